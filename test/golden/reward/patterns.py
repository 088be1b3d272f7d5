"""Writes patterns.json: patterns and texts, and whether CPython's re finds one in the other, ignoring case."""

import json
import re
import sys

PATTERNS = [
    r"paris|lyon", r"19\d\d", r"(?i)paris", r"(?:new )?york(?: city)?", r"caf\w", r"\bfranz\b", r"\w+", r"\W", r"\d+", r"\D+",
    r"a\s+b", r"a\Sb", r"[\w-]+", r"[^\W\d]+", r"[]x]+", r"[^]x]", r"[a\-z]+", r"[-az]", r"[az-]", r"O\'Neil", r"1\,000", r"a{2}",
    r"a{,2}b", r"a{1,}", r"a{x}", r"{a}", r"}", r"]", r"(?P<y>\d)x(?P=y)", r"(\d)x\1", r"\Aab\Z", r"^ab$", r"\Bb", r"(?#note)ab",
    r"(?<=a)b", r"a(?!b)", r"\.", r"a.b", r"\$5", r"[$.]5", r"é", r"ß", r"k", r"\u00e9", r"\x61", r"[à-ü]", r"(?=a)a", r"a|", r"",
    r"st\. louis", r"[&&a]", r"a--b", r"[a~]", r"\t", r"ab??", r"(a)(b)?", r"#5", r"a/b", r"@", r"\@", r"[\s.]", r"[\S]", r"[\D\s]",
]  # fmt: skip
TEXTS = [
    "Paris", "in PARIS france", "lyon", "1969", "１９69", "new york", "new york city", "café", "CAFÉ", "cafe", "franz", "frañz franz1",
    "été", "éfranz", "a b", "a\u00a0b", "a\u3000b", "axb", "a\x1cb", "a\ufeffb", "-", "]", "x]", "a-z", "oneil", "o'neil", "1,000",
    "aa", "aab", "b", "a{x}", "{a}", "}", "1x1", "1x2", "ab", "cab", "ab\n", ".", "$5", "5", "ß", "SS", "K", "\u212a", "ü", "",
    "st. louis", "&a", "a--b", "~", "\t", "ac", "#5", "a/b", "@", "ſ", "s", "Σ", "ς", "中文", "٣", "x٣y",
]  # fmt: skip
cases = []
for pattern in PATTERNS:
    compiled = re.compile(pattern, re.IGNORECASE)
    whole = [i for i, text in enumerate(TEXTS) if compiled.fullmatch(text)]
    inside = [i for i, text in enumerate(TEXTS) if compiled.search(text)]
    cases.append([pattern, whole, inside])
with open(sys.argv[1], "w", encoding="utf-8") as file:
    rows = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    file.write(f'{{"texts": {json.dumps(TEXTS, ensure_ascii=True)},\n"patterns": [\n{rows}\n]}}\n')
