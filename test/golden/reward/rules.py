"""Writes rules.json: random answers in several scripts, scored in CPython by the metric rules of each system.

The rules are written down here from their description, with Python's own str.lower, string.punctuation, re and
str.split, so that they check how another language treats the same characters.
"""

import collections
import json
import random
import re
import string
import sys

PARTS = [
    "the", "a", "An", "THE", "Paris", "paris,", "U.S.", "A-ha", "snake_case", "Arthur's", "Arthur’s", "‘tis",
    "1,234", "１２", "é", "à", "a\u0301", "naïve", "ÉCOLE", "İstanbul", "ΣΑΣ", "Straße", "中文", "the中", "かな", "हिन्दी",
    "yes", "No", "noanswer", "True", "False", "´", "`x`", "\u00a0", "\u3000", "\u2009", "\u200b", "\ufeff", "\x1c",
    "\x85", "—", "“q”", "a.b", "x/y", "$5", "and", "of", "New", "York", "",
]  # fmt: skip


def articles_and_spaces(text):
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def squad(text):
    kept = "".join(char for char in text.lower() if char not in set(string.punctuation))
    return articles_and_spaces(kept)


def spaced(text):
    apart = set(string.punctuation) | set("‘’´`")
    return articles_and_spaces("".join(" " if char in apart else char for char in text.replace("_", " ").lower()))


def searcher(text):
    return spaced({"True": "yes", "False": "no"}.get(text, text))


RULES = {
    "squad": (squad, False),
    "flashrag": (squad, True),
    "search-r1": (squad, False),
    "rag-r1": (spaced, False),
    "r1-searcher": (searcher, True),
}


def overlap(given, gold, closed):
    special = ("yes", "no", "noanswer")
    if closed and given != gold and (given in special or gold in special):
        return 0, 0, 0
    given, gold = given.split(), gold.split()
    same = sum((collections.Counter(given) & collections.Counter(gold)).values())
    if same == 0:
        return 0, 0, 0
    precision, recall = same / len(given), same / len(gold)
    return 2 * precision * recall / (precision + recall), precision, recall


def score(prediction, golds, name):
    normalize, closed = RULES[name]
    given = normalize(prediction)
    best = collections.defaultdict(float)
    for gold in map(normalize, golds):
        f1, precision, recall = overlap(given, gold, closed)
        covers = all(word in given.split(" ") for word in gold.split(" "))
        inside = gold in given
        row = {"em": given == gold, "f1": f1, "precision": precision, "recall": recall}
        row |= {"coverEm1": covers, "coverEm2": inside, "acc": covers if name == "r1-searcher" else inside}
        for key, value in row.items():
            best[key] = max(best[key], float(value))
    return {key: round(value, 6) for key, value in best.items()}


random.seed(4)
cases = []
for number in range(240):
    words = [random.choice(PARTS) for _ in range(random.randint(0, 5))]
    golds = [" ".join(random.sample(words, random.randint(0, len(words))))]
    if number % 3 == 0:
        golds.append("".join(random.choice(PARTS) for _ in range(random.randint(1, 3))))
    prediction = random.choice([" ", "  ", "-"]).join(words)
    cases.append({"prediction": prediction, "golds": golds, "scores": {n: score(prediction, golds, n) for n in RULES}})
cases += [
    {"prediction": p, "golds": g, "scores": {n: score(p, g, n) for n in RULES}}
    for p, g in [("True", ["yes"]), (" True", ["yes"]), ("no", ["False"]), ("yes it is", ["yes"]), ("", ["the"])]
]
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write("[\n" + ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases) + "\n]\n")
