"""Writes tiny random encoders as Hugging Face folders, and golden.json with what sentence-transformers makes of texts.

Run: python make.py   (torch 2.13, transformers 5.18, sentence-transformers 6.0.1)
"""

import json
import shutil
from pathlib import Path

import torch
import transformers
from sentence_transformers import CrossEncoder, SentenceTransformer, __version__
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3Model,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

HERE = Path(__file__).parent
PASSAGES = [
    "Citibank was founded in 1812 as the City Bank of New York.",
    "The River Seine flows through Paris, Rouen and Le Havre; it is 777 km long.",
    "a",
    "",
    "Zürich, São Paulo and Kraków are cities. ÉCOLE!",
    "北京 is the capital of China.",
    " ".join(["The committee met again in the long hall and wrote down what had been said."] * 8),
    "She sells sea-shells; he doesn't. (1999-2004)",
]
QUERIES = ["who founded Citibank?", "how long is the Seine", "CAPITAL of china"]
CORPUS = PASSAGES + QUERIES + [
    "Represent this sentence for searching relevant passages: query: passage: Instruct: Given a question, retrieve",
    "the of and in to was is for on with by from at that it as were had be which or an also",
]


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=220, special_tokens=special)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.decoder = decoders.WordPiece()
    names = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **names
    )


def unigram():
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=special, unk_token="<unk>")
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.decoder = decoders.Metaspace()
    names = dict(bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", pad_token="<pad>")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", **names)


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", pair="$A <|endoftext|> $B <|endoftext|>", special_tokens=[("<|endoftext|>", 0)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>", padding_side="left"
    )


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            drawn = torch.randn(value.shape, generator=generator)
            is_norm = "norm" in name.lower() and name.endswith("weight")
            value.copy_(1 + drawn * 0.1 if is_norm else drawn * (0.1 if value.dim() == 1 else 0.25))
    return model.eval()


def bert(tokenizer, **sizes):
    return BertConfig(vocab_size=len(tokenizer), num_hidden_layers=2, max_position_embeddings=64, **sizes)


def roberta(tokenizer, **sizes):
    return XLMRobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
        max_position_embeddings=50, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2, **sizes,
    )


def save(folder, model, tokenizer, max_length):
    shutil.rmtree(folder, ignore_errors=True)
    tokenizer.model_max_length = max_length
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def sentence_folder(folder, model, tokenizer, max_length, pooling, normalise, prompts):
    """A folder of sentence-transformers around the model."""
    plain = folder.with_name(folder.name + "-plain")
    save(plain, model, tokenizer, max_length)
    transformer = Transformer(str(plain))
    modules = [transformer, Pooling(model.config.hidden_size, pooling_mode=pooling)] + ([Normalize()] if normalise else [])
    shutil.rmtree(folder, ignore_errors=True)
    SentenceTransformer(modules=modules, prompts=prompts, device="cpu").save(str(folder), create_model_card=False)
    if isinstance(model, BertForMaskedLM):  # the stored names of a language model: a prefix, and a head nobody wants
        shutil.copy(plain / "model.safetensors", folder / "model.safetensors")
    shutil.rmtree(plain)
    loaded = SentenceTransformer(str(folder), device="cpu")
    return {
        "passages": loaded.encode_document(PASSAGES, batch_size=3).tolist(),
        "queries": loaded.encode_query(QUERIES).tolist(),
    }


def embedders():
    pieces, parts, levels = word_piece(), unigram(), byte_level()
    sizes = dict(hidden_size=32, num_attention_heads=4, intermediate_size=80)
    wide = dict(hidden_size=48, num_attention_heads=3, intermediate_size=64)
    qwen = Qwen3Config(
        vocab_size=len(levels), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, max_position_embeddings=128, tie_word_embeddings=True,
    )
    query = "Represent this sentence for searching relevant passages: "
    e5 = {"query": "query: ", "document": "passage: "}
    instruct = {"query": "Instruct: Given a question, retrieve passages\nQuery:", "document": ""}
    return {
        "bert-cls": (randomise(BertModel(bert(pieces, **sizes)), 1), pieces, 32, "cls", True, {"query": query}),
        "bert-mean": (randomise(BertForMaskedLM(bert(pieces, **wide)), 2), pieces, 40, "mean", False, {}),
        "xlm-roberta": (randomise(XLMRobertaModel(roberta(parts)), 3), parts, 48, "mean", True, e5),
        "qwen3-last": (randomise(Qwen3Model(qwen), 4), levels, 64, "lasttoken", True, instruct),
    }


def rankers():
    pieces, parts = word_piece(), unigram()
    sizes = dict(hidden_size=32, num_attention_heads=4, intermediate_size=80, num_labels=1)
    yield "bert-rank", randomise(BertForSequenceClassification(bert(pieces, **sizes)), 5), pieces, 48
    yield "xlm-roberta-rank", randomise(XLMRobertaForSequenceClassification(roberta(parts, num_labels=1)), 6), parts, 48


def main():
    torch.set_num_threads(1)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__, "sentence-transformers": __version__}
    golden = {"versions": versions, "texts": {"passages": PASSAGES, "queries": QUERIES}, "embedders": {}, "rankers": {}}
    for name, made in embedders().items():
        golden["embedders"][name] = sentence_folder(HERE / name, *made)
    for name, model, tokenizer, max_length in rankers():
        save(HERE / name, model, tokenizer, max_length)
        ranker = CrossEncoder(str(HERE / name), device="cpu", max_length=max_length, activation_fn=torch.nn.Identity())
        pairs = [[query, passage] for query in QUERIES for passage in PASSAGES]
        golden["rankers"][name] = ranker.predict(pairs).tolist()
    (HERE / "golden.json").write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n")


main()
