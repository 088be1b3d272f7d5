"""Makes lib/text/tokenizers/patterns/unicode-tables.ts: the sets of code points that the reference library (tokenizers 0.23.2)
knows by tables of its own, in their releases of Unicode, which are not those of the JavaScript engine.

    python make_unicode.py
"""

import json
import subprocess
from pathlib import Path

from tokenizers import Regex, normalizers, pre_tokenizers

OUT = Path(__file__).parents[3] / "lib/text/tokenizers/patterns/unicode-tables.ts"
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
FORMS = ["NFC", "NFD", "NFKC", "NFKD"]


def where(holds) -> list[int]:
    return [code for code in CODES if holds(chr(code))]


def bert(**options):
    base = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**base, **options})


def matches(regex: str) -> list[int]:
    cut = pre_tokenizers.Split(Regex(f"{regex}"), "removed")
    return where(lambda char: cut.pre_tokenize_str(char) == [])


def nonspacing() -> list[int]:
    """What strip_accents removes of its NFD; code points with a decomposition are no marks themselves, or lose all of it."""
    strip = bert(strip_accents=True)
    return where(lambda char: strip.normalize_str(char) == "")


def unstable() -> list[int]:
    """Where the engine's normal forms, of a newer Unicode, differ: alone, in the order of marks, or composed."""
    samples = [f"{before}{{}}{after}" for before, after in (("", ""), ("a", "\u0334"), ("a\u0345", ""))]
    texts = [sample.format(chr(code)) for code in CODES for sample in samples]
    script = (
        "const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        f"const forms = {json.dumps(FORMS)};"
        "process.stdout.write(JSON.stringify(texts.map((text) => forms.map((form) => text.normalize(form)))));"
    )
    made = subprocess.run(["node", "-e", script], input=json.dumps(texts), capture_output=True, text=True, check=True)
    found = set()
    reference = [getattr(normalizers, form)() for form in FORMS]
    for i, (text, ours) in enumerate(zip(texts, json.loads(made.stdout))):
        for normalizer, form in zip(reference, ours):
            if normalizer.normalize_str(text) != form:
                code = CODES[i // len(samples)]
                found.add(code)
                # What it decomposes to does not compose to it either.
                if i % len(samples) == 0 and len(form) > 1:
                    found.add(ord(form[0]))
    return sorted(found - set(range(0x300)))


def ranges(codes: list[int]) -> str:
    """Gaps and lengths of the runs, in base 36."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code:
            runs[-1][1] += 1
        # Surrogates are no text: a run may pass over them.
        elif runs and runs[-1][1] == 0xD800 and code == 0xE000:
            runs[-1][1] = code + 1
        else:
            runs.append([code, code + 1])
    digits, end = [], 0
    for start, stop in runs:
        digits += [base36(start - end), base36(stop - start)]
        end = stop
    return " ".join(digits)


def base36(number: int) -> str:
    digit = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36]
    return base36(number // 36) + digit if number >= 36 else digit


def main() -> None:
    clean = bert(clean_text=True)
    punctuation = pre_tokenizers.BertPreTokenizer()
    accents = normalizers.StripAccents()
    words = pre_tokenizers.Whitespace()
    sets = {
        "bertRemoved": where(lambda char: clean.normalize_str(char) == ""),
        "bertMark": nonspacing(),
        "bertPunctuation": where(lambda char: len(punctuation.pre_tokenize_str(f"a{char}b")) == 3),
        "accent": where(lambda char: accents.normalize_str(char) == ""),
        "unstable": unstable(),
        "word": where(lambda char: len(words.pre_tokenize_str(f"a{char}b")) == 1),
    }
    for name in ("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "N", "Nd", "P", "S"):
        sets[name] = matches(f"\\p{{{name}}}")
    lines = [f'  {name}: "{ranges(codes)}",' for name, codes in sets.items()]
    OUT.write_text(
        "/** Sets of code points as the reference library has them, made by test/golden/text/make_unicode.py. */\n\n"
        "/** Runs of code points: for each the gap before it and its length, in base 36. */\n"
        "export const unicodeRuns = {\n" + "\n".join(lines) + "\n} as const;\n"
    )


main()
