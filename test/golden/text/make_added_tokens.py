"""Writes added-tokens.json: what transformers' tokenizers make of tokens that stand in the files beside tokenizer.json.

Each case: the files of a folder that differ from the base's, and with transformers 5.18 (tokenizers 0.23) the ids of each text,
the ids of all special tokens, of bos, eos and pad, and the text of all ids without special tokens. The base is a byte-level BPE
of single characters and one added token, `<|end|>`. Run: python make_added_tokens.py
"""
import json
import pathlib
import tempfile

from transformers import AutoTokenizer, logging

HERE = pathlib.Path(__file__).parent
logging.set_verbosity_error()
CHARS = [chr(c) for c in range(33, 127)] + ["\u0120"]
VOCAB = {char: i for i, char in enumerate([*CHARS, "<s>", "ab"])}
END = len(VOCAB)


def added(content, token_id=None, **flags):
    usual = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    return {**({} if token_id is None else dict(id=token_id)), "content": content, **usual, **flags}


BASE = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [added("<|end|>", END)],
    "normalizer": dict(type="Lowercase"),
    "pre_tokenizer": dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False),
    "post_processor": None,
    "decoder": dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
    "model": dict(type="BPE", vocab=VOCAB, merges=[["a", "b"]], fuse_unk=False, byte_fallback=False),
}
TEXTS = ["a<|search|>b", "a <|search|> b", "<|end|><|x|>", "<s>ab</s>", "AB<TOOL>ab<tool>", "x<|search|>y<|x|>z"]
CONFIG = "tokenizer_config.json"
MAP = "special_tokens_map.json"
ADDED = "added_tokens.json"


def decoder(*tokens):
    return {str(token.pop("id")): token for token in tokens}


CASES = {
    "nothing besides": {},
    "added_tokens_decoder alone": {CONFIG: dict(added_tokens_decoder=decoder(added("<|end|>", END), added("<|search|>", END + 1)))},
    "added_tokens_decoder without the one of tokenizer.json": {CONFIG: dict(added_tokens_decoder=decoder(added("<|search|>", END + 1)))},
    "added_tokens_decoder with flags": {CONFIG: dict(added_tokens_decoder=decoder(added("<|end|>", END), added("<|search|>", END + 1, lstrip=True, rstrip=True)))},
    "added_tokens_decoder, not special and normalized": {CONFIG: dict(added_tokens_decoder=decoder(added("<TOOL>", END + 1, special=False, normalized=True)))},
    "added_tokens_decoder, not special": {CONFIG: dict(added_tokens_decoder=decoder(added("<|search|>", END + 1, special=False)))},
    "added_tokens_decoder in another order": {CONFIG: dict(added_tokens_decoder=decoder(added("<|x|>", END + 2), added("<|search|>", END + 1)))},
    "added_tokens_decoder with a gap": {CONFIG: dict(added_tokens_decoder=decoder(added("<|search|>", END + 5)))},
    "added_tokens_decoder of a vocabulary's token": {CONFIG: dict(added_tokens_decoder=decoder(added("<s>", VOCAB["<s>"])))},
    "added_tokens_decoder changes flags": {CONFIG: dict(added_tokens_decoder=decoder(added("<|end|>", END, special=False)))},
    "added_tokens_decoder changes lstrip": {"tokenizer.json": dict(added_tokens=[added("<|search|>", END)]), CONFIG: dict(added_tokens_decoder=decoder(added("<|search|>", END, lstrip=True)))},
    "added_tokens_decoder gives another token an id": {CONFIG: dict(added_tokens_decoder=decoder(added("<|search|>", END)))},
    "added_tokens_decoder gives a token another id": {CONFIG: dict(added_tokens_decoder=decoder(added("<|end|>", END + 1)))},
    "special_tokens_map alone": {MAP: dict(eos_token="</s>", pad_token="<|end|>")},
    "special_tokens_map against tokenizer_config": {MAP: dict(eos_token="<|end|>"), CONFIG: dict(eos_token="<s>")},
    "special_tokens_map beside added_tokens_decoder": {MAP: dict(eos_token="</s>", bos_token="<s>"), CONFIG: dict(eos_token="<|end|>", added_tokens_decoder=decoder(added("<|end|>", END)))},
    "special_tokens_map, additional": {MAP: dict(additional_special_tokens=["<|search|>", "<|x|>"])},
    "special_tokens_map, extra": {MAP: dict(extra_special_tokens=["<|search|>", added("<|x|>")])},
    "special_tokens_map, extra beside those of tokenizer_config": {MAP: dict(extra_special_tokens=["<|x|>"]), CONFIG: dict(extra_special_tokens=["<|search|>"])},
    "special_tokens_map, additional beside those of tokenizer_config": {MAP: dict(additional_special_tokens=["<|x|>"]), CONFIG: dict(additional_special_tokens=["<|search|>"])},
    "special_tokens_map with an object": {MAP: dict(eos_token=added("<|search|>", lstrip=True))},
    "special_tokens_map with an object that is normalized": {MAP: dict(eos_token=added("<TOOL>", normalized=True))},
    "special_tokens_map with a key of the model's own": {MAP: dict(tool_token="<|search|>")},
    "special_tokens_map with an object at a key of the model's own": {MAP: dict(tool_token=added("<|search|>", lstrip=True))},
    "special_tokens_map with a key of the model's own beside added_tokens_decoder": {MAP: dict(tool_token="<|search|>"), CONFIG: dict(added_tokens_decoder=decoder(added("<|end|>", END)))},
    "special_tokens_map with a key of the model's own beside that of tokenizer_config": {MAP: dict(tool_token="<|x|>", a_token="</s>"), CONFIG: dict(tool_token="<|search|>")},
    "special_tokens_map with a key of the model's own beside an object of tokenizer_config": {MAP: dict(tool_token="<|x|>"), CONFIG: dict(tool_token=dict(__type="AddedToken", **added("<|search|>")))},
    "special_tokens_map with a key of the model's own beside model_specific_special_tokens": {MAP: dict(tool_token="<|search|>"), CONFIG: dict(model_specific_special_tokens=dict(other_token="<|x|>"))},
    "special_tokens_map with a key of the model's own beside added_tokens.json": {MAP: dict(tool_token="<|search|>"), ADDED: {"<|search|>": END + 1, "<|x|>": END + 2}},
    "special_tokens_map with keys that name no token": {MAP: dict(tool="<|search|>", max_token=5, no_token=None, some_token=["<|x|>"])},
    "a normalized token of added_tokens.json at a key of the model's own": {MAP: dict(tool_token="<TOOL>"), ADDED: {"<TOOL>": END + 1}},
    "a token of added_tokens_decoder, not special, at a key of the model's own": {CONFIG: dict(tool_token="<|search|>", added_tokens_decoder=decoder(added("<|end|>", END), added("<|search|>", END + 1, special=False)))},
    "an object at a token key of the model's own": {CONFIG: dict(tool_token=dict(__type="AddedToken", **added("<|search|>", lstrip=True)))},
    "an object without its type at a token key of the model's own": {CONFIG: dict(tool_token=added("<|search|>"))},
    "added_tokens.json": {ADDED: {"<|search|>": END + 1, "<|x|>": END + 2}},
    "added_tokens.json in another order": {ADDED: {"<|x|>": END + 2, "<|search|>": END + 1}},
    "added_tokens.json, one of them named": {ADDED: {"<|search|>": END + 1, "<TOOL>": END + 2}, CONFIG: dict(eos_token="<|search|>")},
    "added_tokens.json with a gap": {ADDED: {"<|search|>": END + 7}},
    "added_tokens.json beside added_tokens_decoder": {ADDED: {"<|search|>": END + 1}, CONFIG: dict(added_tokens_decoder=decoder(added("<|end|>", END)))},
    "named in tokenizer_config": {CONFIG: dict(bos_token="<s>", eos_token="<|search|>", pad_token="<|x|>")},
    "named in tokenizer_config as objects": {CONFIG: dict(eos_token=dict(__type="AddedToken", **added("<|search|>", lstrip=True)))},
    "named and in added_tokens_decoder": {CONFIG: dict(eos_token="<|search|>", added_tokens_decoder=decoder(added("<|search|>", END + 1, special=False)))},
    "unk, cls, sep and mask": {CONFIG: dict(unk_token="<|x|>", cls_token="<s>", sep_token="<|search|>", mask_token="<TOOL>")},
    "additional_special_tokens": {CONFIG: dict(additional_special_tokens=["<|search|>", "<|x|>"])},
    "extra_special_tokens": {CONFIG: dict(extra_special_tokens=["<|search|>", "<|x|>"])},
    "extra and additional": {CONFIG: dict(extra_special_tokens=["<|search|>"], additional_special_tokens=["<|x|>"])},
    "extra_special_tokens by name": {CONFIG: dict(extra_special_tokens=dict(tool_token="<|search|>"))},
    "a token key of the model's own": {CONFIG: dict(tool_token="<|search|>")},
    "model_specific_special_tokens": {CONFIG: dict(model_specific_special_tokens=dict(tool_token="<|search|>", image="<|x|>"))},
    "model_specific_special_tokens as objects": {CONFIG: dict(model_specific_special_tokens=dict(tool_token=dict(__type="AddedToken", **added("<|search|>", lstrip=True))))},
    "model_specific_special_tokens beside added_tokens_decoder": {CONFIG: dict(model_specific_special_tokens=dict(tool_token="<|search|>", other="<|x|>"), added_tokens_decoder=decoder(added("<|end|>", END), added("<|x|>", END + 1)))},
    "model_specific_special_tokens beside a token key of the model's own": {CONFIG: dict(model_specific_special_tokens=dict(other_token="<|x|>"), tool_token="<|search|>")},
    "model_specific_special_tokens beside extra_special_tokens by name": {CONFIG: dict(model_specific_special_tokens=dict(other_token="<|x|>"), extra_special_tokens=dict(tool_token="<|search|>"))},
    "model_specific_special_tokens beside a list of extra_special_tokens": {CONFIG: dict(model_specific_special_tokens=dict(other_token="<|x|>"), extra_special_tokens=["<|search|>"])},
    "model_specific_special_tokens beside those of special_tokens_map": {CONFIG: dict(model_specific_special_tokens=dict(other_token="<|x|>")), MAP: dict(extra_special_tokens=dict(tool_token="<|search|>"))},
    "model_specific_special_tokens and a role of every model": {CONFIG: dict(model_specific_special_tokens=dict(other_token="<|x|>"), eos_token="<|search|>")},
    "a token of the vocabulary among additional ones": {CONFIG: dict(additional_special_tokens=["ab"])},
    "added_tokens.json, one of them additional": {ADDED: {"<|search|>": END + 1, "<|x|>": END + 2}, MAP: dict(additional_special_tokens=["<|x|>"])},
    "added_tokens.json, one of them extra": {ADDED: {"<|search|>": END + 1, "<|x|>": END + 2}, CONFIG: dict(extra_special_tokens=["<|x|>"])},
    "added_tokens_decoder, one of them additional": {CONFIG: dict(additional_special_tokens=["<|x|>", "<|end|>"], added_tokens_decoder=decoder(added("<|end|>", END), added("<|search|>", END + 1), added("<|x|>", END + 2, special=False)))},
    "eos of the vocabulary": {CONFIG: dict(eos_token="<s>")},
}  # fmt: skip


def result(files, kind):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        whole = {**files, "tokenizer.json": {**BASE, **files.get("tokenizer.json", {})}}
        whole[CONFIG] = {"tokenizer_class": kind, **files.get(CONFIG, {})}
        for name, content in whole.items():
            (path / name).write_text(json.dumps(content))
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder)
        except Exception as error:
            return dict(refused=str(error))
        ids = [tokenizer.encode(text, add_special_tokens=False) for text in TEXTS]
        return dict(
            ids=ids,
            specials=sorted(tokenizer.all_special_ids),
            named=[tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id],
            decoded=[tokenizer.decode(each, skip_special_tokens=True) for each in ids],
            size=len(tokenizer),
        )


golden = [dict(name=name, files=files, **result(files, "PreTrainedTokenizerFast")) for name, files in CASES.items()]
(HERE / "added-tokens.json").write_text(
    json.dumps(dict(base=BASE, texts=TEXTS))[:-1] + ', "cases": [\n' + ",\n".join(map(json.dumps, golden)) + "\n]}\n"
)
