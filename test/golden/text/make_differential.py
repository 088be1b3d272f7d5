"""Makes differential.json.gz: 2,400 texts and, for each tokenizer, a digest of the reference's ids for each of them
(tokenizers 0.23.2, sentencepiece 0.2.2; also of what they decode to).

    python make_differential.py [folder with real tokenizers]

Without the folder the digests of the real tokenizers are taken over from the file as it stands.
"""

import gzip
import hashlib
import json
import random
import sys
from pathlib import Path

import sentencepiece
from tokenizers import Tokenizer

HERE = Path(__file__).parent
OUT = HERE / "differential.json.gz"
OWN = ["byte-level", "word-piece", "word-level", "unigram", "byte-fallback", "precompiled"]
MODELS = ["bpe.model", "unigram.model"]
REAL = ["qwen2.5", "llama3", "bert-base-uncased", "all-minilm-l6-v2", "t5"]
REAL_MODELS = ["llama2/tokenizer.model", "t5/spiece.model"]

WORDS = (
    "the of was born in founded library Harbour Town Kämpen New York wrote It's we'll THEY'RE I'M don't can't 1901 3.14 "
    "1,000,000 camelCase snake_case x86_64 http://a.b/c?d=e&f #tag @name 東山 日本語 中文 한국어 العربية עברית हिन्दी ไทย Ошин ΣΊΣΥΦΟΣ "
    "ΟΔΥΣΣΕΥΣ Σ ς İstanbul ISTANBUL ıI straße STRASSE ﬁn ½ ² ٣ Ⅷ ① 👩‍👩‍👧 🇫🇷 😀 e\u0301 naïve ãéîõü Å \u212b \u1e9b\u0323 \U00020000 "
    "\U0002a6df\U0002b820 \U0002ceb0\U00030000 <search> </search> <|im_start|> <|im_end|> [CLS] [UNK] <unk> <s> </s> <0x0A> ▁ ▁a "
    "\ufb03 ｆｕｌｌ ㌔ ㍿ \u3000 ... !!! --- \"quoted\" (a) [b] {c} $5 50% a+b=c ~x ^y `z` |"
).split(" ")
SPACES = [" ", " ", " ", " ", "  ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u2003", "\u2028", "\u0085", "\ufeff", "\u200b", "\u3000", ""]
BLOCKS = [(0x1, 0x250), (0x250, 0x600), (0x600, 0x1100), (0x1100, 0x2000), (0x2000, 0x3000), (0x3000, 0xD800), (0xE000, 0x10000)]
BLOCKS += [(0x10000, 0x12000), (0x16000, 0x19000), (0x1A000, 0x20000), (0x20000, 0x30000), (0x30000, 0x33480), (0xE0000, 0xE0200)]
TRICKY = [0x0, 0xAD, 0x300, 0x345, 0x61C, 0x7FD, 0x890, 0x897, 0x8CA, 0x1ABF, 0x1CFA, 0x1DF6, 0x200D, 0x2066, 0x2E52, 0x32FF, 0xA8FF, 0xFEFF, 0xFFFD]
TRICKY += [0x10D24, 0x10EFD, 0x110CD, 0x11383, 0x11938, 0x13430, 0x1E030, 0x1E5FF, 0x1FBF0, 0x2B739, 0x2B73A, 0x2B820, 0x2CEA2, 0x2EBF0, 0x2F800, 0x323B0]


def char(rng: random.Random) -> str:
    start, stop = rng.choice(BLOCKS)
    return chr(rng.choice(TRICKY) if rng.random() < 0.2 else rng.randrange(start, stop))


def sentence(rng: random.Random) -> str:
    return "".join(rng.choice(WORDS) + rng.choice(SPACES) for _ in range(rng.randint(1, 12)))


def mixture(rng: random.Random) -> str:
    parts = [lambda: rng.choice(WORDS), lambda: rng.choice(SPACES), lambda: char(rng), lambda: rng.choice("abcXYZ019.,;'")]
    return "".join(rng.choice(parts)() for _ in range(rng.randint(1, 25)))


def texts() -> list[str]:
    rng = random.Random(11)
    made = [f"a{chr(code)}b" for code in TRICKY] + [chr(code) for code in TRICKY]
    made += [before + char(rng) + after for _ in range(250) for before, after in (("a", "b"), ("", ""))]
    made += [sentence(rng) for _ in range(900)]
    made += [mixture(rng) for _ in range(2400 - len(made))]
    return made


def precompiled() -> None:
    """A tokenizer.json as made from a SentencePiece model (T5, XLM-RoBERTa): Precompiled, Metaspace, Unigram."""
    from sentencepiece import sentencepiece_model_pb2
    import base64

    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString((HERE / "unigram.model").read_bytes())
    spec = proto.normalizer_spec
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(spec.precompiled_charsmap).decode()},
                {"type": "Strip", "strip_left": False, "strip_right": True},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"},
            ],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": None,
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": proto.trainer_spec.unk_id,
            "vocab": [[piece.piece, piece.score] for piece in proto.pieces],
            "byte_fallback": False,
        },
    }
    folder = HERE / "precompiled"
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False))


def digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf8", "surrogatepass")).hexdigest()[:8]


def digests(encode, decode, lines: list[str]) -> dict:
    ids = [encode(line) for line in lines]
    return {
        "ids": "".join(digest(",".join(map(str, row))) for row in ids),
        "decoded": "".join(digest(decode(row)) for row in ids),
    }


def of_json(path: Path, lines: list[str]) -> dict:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encode = lambda line: tokenizer.encode(line, add_special_tokens=False).ids
    return digests(encode, lambda row: tokenizer.decode(row, skip_special_tokens=False), lines)


def of_model(path: Path, lines: list[str]) -> dict:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return digests(processor.encode, processor.decode, lines)


def main() -> None:
    precompiled()
    lines = texts()
    made = {name: of_json(HERE / name / "tokenizer.json", lines) for name in OWN}
    made |= {name: of_model(HERE / name, lines) for name in MODELS}
    real = json.loads(gzip.decompress(OUT.read_bytes()))["real"] if OUT.exists() else {}
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        real = {name: of_json(folder / name / "tokenizer.json", lines) for name in REAL}
        real |= {name: of_model(folder / name, lines) for name in REAL_MODELS}
    content = json.dumps({"texts": lines, "own": made, "real": real}, ensure_ascii=False)
    OUT.write_bytes(gzip.compress(content.encode("utf8", "surrogatepass"), mtime=0))


main()
