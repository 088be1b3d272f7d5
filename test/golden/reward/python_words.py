"""Writes python_words.json: what CPython takes for lower case, word characters and white space, through the SQuAD normaliser."""

import json
import re
import string
import sys
import unicodedata


def normalize(text):
    text = "".join(char for char in text.lower() if char not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def representatives():
    """Two characters of each general category and bidirectional class, and every white space."""
    seen = {}
    for code in range(0x110000):
        char = chr(code)
        if 0xD800 <= code < 0xE000 or (unicodedata.category(char) == "Cn"):
            continue
        if unicodedata.category(char).startswith("C") and unicodedata.category(char) not in ("Cc", "Cf"):
            continue
        key = (unicodedata.category(char), unicodedata.bidirectional(char), char.isspace(), char.isnumeric())
        seen.setdefault(key, []).append(char)
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace()]
    rare = [char for chars in seen.values() for char in (chars[0], chars[-1])]
    return sorted(set(spaces + rare))


cases = []
for char in representatives():
    for text in (f"the{char}a b{char}an", f"{char}The{char} X{char}"):
        cases.append([text, normalize(text)])
for text in ("ΌΔΟΣ ΣΑΣ", "İstanbul the Ağa", "STRASSE ẞ the", "cafe\u0301 a e\u0301", "À la the", "a-an-the", "A’s"):
    cases.append([text, normalize(text)])
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(cases, file, ensure_ascii=True, indent=0)
    file.write("\n")
