"""The peer of bench/search/bm25.ts, which starts it: bm25s (numba backend, Lucene's formula) over the same words.

Commands on standard input: build; search; compare <our ids and scores>. One JSON object a line answers.
"""
import json
import os
import resource
import sys
import time

import bm25s
import numpy as np

folder, top_k = sys.argv[1], int(sys.argv[2])
words = np.fromfile(f"{folder}/words.bin", dtype=np.uint32)
ends = np.fromfile(f"{folder}/ends.bin", dtype=np.uint32)
queries = [[f"w{word}" for word in query] for query in json.load(open(f"{folder}/queries.json"))]
num_threads = os.cpu_count()
model = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
found = None


def build():
    corpus = [part.tolist() for part in np.split(words, ends[:-1])]
    vocabulary = {f"w{i}": i for i in range(int(words.max()) + 1)}
    started, cpu = time.perf_counter(), time.process_time()
    model.index(bm25s.tokenization.Tokenized(ids=corpus, vocab=vocabulary), show_progress=False)
    times = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}
    retrieve(queries[:10], num_threads)
    return {**times, "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def retrieve(some, threads):
    return model.retrieve(some, k=top_k, n_threads=threads, show_progress=False)


def search():
    global found
    started, cpu = time.perf_counter(), time.process_time()
    found = retrieve(queries, num_threads)
    times = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}
    singles = []
    for query in queries[:200]:
        started = time.perf_counter()
        retrieve([query], 1)
        singles.append(time.perf_counter() - started)
    return {**times, "single": float(np.median(singles))}


def compare(ids, scores):
    pairs = zip(np.array(ids).reshape(len(queries), top_k).tolist(), found.documents.tolist())
    theirs = found.scores.ravel()
    difference = np.abs(np.array(scores) - theirs) / np.maximum(theirs, 1e-9)
    return {"shared": float(np.mean([len(set(a) & set(b)) / top_k for a, b in pairs])), "difference": float(difference.max())}


for line in sys.stdin:
    name, _, argument = line.strip().partition(" ")
    result = build() if name == "build" else search() if name == "search" else compare(*json.loads(argument))
    print(json.dumps(result), flush=True)
