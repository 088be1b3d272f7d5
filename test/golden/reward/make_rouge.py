"""Writes rouge.json: random answers of several sentences and scripts, with the F values of the package `rouge`, which
FlashRAG scores with. The values that stand there were made by that package's functions as its public source has them, not
by the package as it is installed.

Usage: make_rouge.py OUT
"""

import json
import random
import sys

from rouge import Rouge

WORDS = ["the", "cat", "sat", "on", "a", "mat", "Cat", "3.14", "é", "中文", "中", "of", "U.S.", "and", "\u00a0", "."]
draw = random.Random(7)


def text():
    words = draw.choices(WORDS, k=draw.randint(1, 14))
    return "".join(word + draw.choice([" ", " ", "  ", ". ", "\n"]) for word in words)


cases = []
while len(cases) < 120:
    answer, accepted = text(), [text() for _ in range(draw.randint(1, 3))]
    if any(not each.replace(".", "") for each in [answer, *accepted]):
        continue
    scores = [Rouge().get_scores(answer, each)[0] for each in accepted]
    best = {name: max(score[name]["f"] for score in scores) for name in ["rouge-1", "rouge-2", "rouge-l"]}
    cases.append({"answer": answer, "accepted": accepted, **best})

with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(cases, file, ensure_ascii=False, indent=0)
    file.write("\n")
