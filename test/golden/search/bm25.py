"""Writes bm25.json: a corpus of made-up terms and the BM25 rankings of some queries, in float64 by the formula alone.

Run: python bm25.py > bm25.json
"""
import json
import math
import random

rng = random.Random(11)
VOCABULARY = [f"t{i}q" for i in range(120)]
WEIGHTS = [1 / (i + 1) for i in range(len(VOCABULARY))]  # a few terms in most passages, most in a few


def words(count):
    return rng.choices(VOCABULARY, WEIGHTS, k=count)


def bm25(corpus, query, k1, b):
    average = sum(len(passage) for passage in corpus) / len(corpus)
    scores = []
    for passage in corpus:
        score = 0.0
        for term in query:
            df = sum(term in other for other in corpus)
            tf = passage.count(term)
            if df == 0 or tf == 0:
                continue
            idf = math.log(1 + (len(corpus) - df + 0.5) / (df + 0.5))
            score += idf * (tf / (tf + k1 * (1 - b + b * len(passage) / average)))
        scores.append(score)
    ranked = sorted((i for i in range(len(corpus)) if scores[i] > 0), key=lambda i: (-scores[i], i))
    return [[i, scores[i]] for i in ranked[:10]]


corpus = [words(rng.randint(3, 60)) for _ in range(150)] + [[]]
queries = [words(rng.randint(1, 8)) for _ in range(25)] + [["t0q"], ["t0q", "t0q", "t5q"], ["unknown", "t7q"], ["unknown"]]
cases = [
    {"k1": k1, "b": b, "rankings": [bm25(corpus, query, k1, b) for query in queries]}
    for k1, b in [(1.2, 0.75), (0.9, 0.4), (0.0, 0.0), (2.0, 1.0)]
]
print(json.dumps({"corpus": [" ".join(p) for p in corpus], "queries": [" ".join(q) for q in queries], "cases": cases}))
