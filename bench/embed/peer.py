"""The sentence-transformers peer of bench/embed/embed.ts: reads `passages N`, `even N` or `query I` lines, answers with seconds.

Run by the bench: python peer.py FOLDER TEXTS_JSON float32|bfloat16
"""

import json
import resource
import sys
import time

import torch
from sentence_transformers import SentenceTransformer

folder, path, dtype = sys.argv[1:4]
model = SentenceTransformer(folder, device="cpu", model_kwargs={"dtype": getattr(torch, dtype)})
texts = json.load(open(path))


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


for line in sys.stdin:
    what, *rest = line.split()
    chosen = [texts["queries"][int(rest[0])]] if what == "query" else texts[what][: int(rest[0])]
    started, cpu = time.perf_counter(), cpu_seconds()
    vectors = model.encode(chosen, batch_size=32, convert_to_tensor=True)
    answer = {"seconds": time.perf_counter() - started, "cpu": cpu_seconds() - cpu}
    print(json.dumps({**answer, "first": vectors[0, :4].float().tolist()}), flush=True)
