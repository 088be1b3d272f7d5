"""Makes the models and texts of bench/embed/embed.ts: random weights of true shapes, real word pieces.

Run: python make_models.py [TOKENIZER_JSON] FOLDER   (TOKENIZER_JSON: a BERT tokenizer.json, such as MiniLM's; without it
one is made up, of 30,000 words)
Writes FOLDER/minilm-l6 and FOLDER/bge-base, each a sentence-transformers folder, with onnx/model.onnx for transformers.js
where Python has the onnx package, and FOLDER/texts.json: 512 passages of log-normal lengths (median 90 tokens, at most
512), 128 `even` ones of 128 tokens each, and 64 queries.
"""

import importlib.util
import json
import math
import random
import sys
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

SHAPES = {
    "minilm-l6": dict(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
    "bge-base": dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072),
}
NAMES = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")


def made_up_tokenizer():
    """As BERT's: lower case, words or pieces of them, [CLS] and [SEP] around."""
    draw = random.Random(5)
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    pieces = [*NAMES.values(), *letters, *(f"##{letter}" for letter in letters)]
    words = {"".join(draw.choices(syllables, k=draw.randint(2, 4))) for _ in range(40_000)}
    vocabulary = {piece: i for i, piece in enumerate([*pieces, *sorted(words)[:30_000]])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    ends = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=ends
    )
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def tokenizer_of(path):
    inner = Tokenizer.from_file(path) if path else made_up_tokenizer()
    inner.no_padding()
    inner.no_truncation()
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=inner, model_input_names=inputs, model_max_length=512, **NAMES)


class LastHidden(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]


def export(model, path):
    path.parent.mkdir(exist_ok=True)
    ids = torch.ones(2, 16, dtype=torch.long)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "length"} for name in [*names, "last_hidden_state"]}
    torch.onnx.export(
        LastHidden(model), (ids, ids, ids * 0), str(path), input_names=names, output_names=["last_hidden_state"],
        dynamic_axes=axes, opset_version=17, dynamo=False,
    )


def texts(tokenizer):
    draw = random.Random(7)
    words = [word for word in tokenizer.get_vocab() if word.isascii() and word.isalpha() and len(word) > 1]
    words.sort()
    draw.shuffle(words)
    weights = [1 / (rank + 10) for rank in range(len(words))]

    def text(length):
        return " ".join(draw.choices(words, weights, k=length))

    lengths = [min(510, max(5, round(90 * math.exp(draw.gauss(0, 0.6))))) for _ in range(512)]
    passages, queries = [text(length) for length in lengths], [text(draw.randint(6, 18)) for _ in range(64)]
    return {"passages": passages, "queries": queries, "even": [text(126) for _ in range(128)]}


def main():
    *path, folder = sys.argv[1:]
    tokenizer, folder = tokenizer_of(path[0] if path else None), Path(folder)
    for name, shape in SHAPES.items():
        torch.manual_seed(1)
        model = BertModel(BertConfig(vocab_size=len(tokenizer), attn_implementation="eager", **shape)).eval()
        plain = folder / f"{name}-plain"
        model.save_pretrained(plain)
        tokenizer.save_pretrained(plain)
        modules = [Transformer(str(plain)), Pooling(shape["hidden_size"], pooling_mode="mean"), Normalize()]
        SentenceTransformer(modules=modules, device="cpu").save(str(folder / name), create_model_card=False)
        if importlib.util.find_spec("onnx") is not None:
            export(model, folder / name / "onnx" / "model.onnx")
    (folder / "texts.json").write_text(json.dumps(texts(tokenizer)))


main()
