"""Writes kilt.jsonl, two fictional pages in the form of KILT's knowledge source, and kilt.tsv, their split into passages
of 100 words as RAG-R1 publishes it: paragraphs joined, marks dropped, cut at what Python's str.split takes for blanks.

python make_kilt.py        (Python 3.11)
"""

import json

SIZE = 100
BLANKS = [" ", "  ", "\n", "\t", "\u00a0", "\u2003", "\u3000", "\u0085", "\x1c", "\u2028", "\r\n"]
NO_BLANKS = ["\u200b", "\ufeff", "\u2060"]  # JavaScript's \s takes the second for a blank, Python does not


def page(title: str, num_words: int) -> dict:
    words = [f"word{i}" for i in range(num_words)]
    for i, mark in enumerate(NO_BLANKS):
        words[10 + i] += mark + "joined"
    text = "".join(word + BLANKS[i % len(BLANKS)] for i, word in enumerate(words))
    half = len(text) // 2
    paragraphs = [title + "\n", text[:half], "Section::::Life.\n", "BULLET::::- one", "BULLET::::- two\n", text[half:]]
    return {"wikipedia_title": title, "text": paragraphs}


def passages(pages: list[dict]):
    number = 0
    for each in pages:
        words = "".join(each["text"]).replace("BULLET::::", "").replace("Section::::", "").split()
        for begin in range(0, len(words), SIZE):
            yield number, each["wikipedia_title"], " ".join(words[begin : begin + SIZE])
            number += 1


# The second page's words, title and headings included, fill two passages exactly.
pages = [page("Ada Brand", 250), page("Vel\u00f3 (town)", 191)]
with open("kilt.jsonl", "w", encoding="utf-8", newline="\n") as file:
    file.writelines(json.dumps(each) + "\n" for each in pages)
with open("kilt.tsv", "w", encoding="utf-8", newline="\n") as file:
    file.writelines(f"{number}\t{title}   {text}\n" for number, title, text in passages(pages))
