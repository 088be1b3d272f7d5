"""The faiss side of bench/search/peers.ts: answers one JSON command a line on standard input with one on standard output.

Commands: {"build": "flat" | "hnsw", "vectors": FILE, "dim": D, "threads": T}, {"search": NAME, "queries": FILE,
"batch": B, "ef": E, "topK": K, "count": N} which also writes the ids to QUERIES.ids. Files are raw f32, row-major.
"""
import json
import os
import resource
import subprocess
import sys
import time

CORE = "OPENBLAS_CORETYPE"


def fastest_core():
    """What OpenBLAS takes for the processor is not always its fastest: with BF16 it may be at 0.4 of Haswell's kernels."""

    def seconds(core):
        command = [sys.executable, __file__, "time"]
        tried = subprocess.run(command, env={**os.environ, CORE: core}, capture_output=True)
        # Kernels that the processor lacks end with SIGILL.
        return float(tried.stdout) if tried.returncode == 0 else float("inf")

    return min(["", "SkylakeX", "Haswell"], key=seconds)


if CORE not in os.environ:
    os.environ[CORE] = fastest_core()
    os.execv(sys.executable, [sys.executable, *sys.argv])

import faiss
import numpy as np

indexes = {}


def clock():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), usage.ru_utime + usage.ru_stime


def unit(path, dim):
    vectors = np.fromfile(path, dtype=np.float32).reshape(-1, dim)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def build(command):
    faiss.omp_set_num_threads(command["threads"])
    dim = command["dim"]
    vectors = unit(command["vectors"], dim)
    if command["build"] == "flat":
        index = faiss.IndexFlatIP(dim)
    else:
        index = faiss.IndexHNSWFlat(dim, command["connectivity"])
        index.hnsw.efConstruction = command["expansionAdd"]
    path = command["vectors"] + ".faiss-" + command["build"]
    wall, cpu = clock()
    if command["build"] == "hnsw" and os.path.exists(path):
        index = faiss.read_index(path)
    else:
        index.add(vectors)
    done = clock()
    if command["build"] == "hnsw" and not os.path.exists(path):
        faiss.write_index(index, path)
    indexes[command["build"]] = index
    return {"seconds": done[0] - wall, "cpuSeconds": done[1] - cpu}


def search(command):
    index = indexes[command["search"]]
    if command["search"] == "hnsw":
        index.hnsw.efSearch = command["ef"]
    queries = unit(command["queries"], index.d)[: command["count"]]
    wall, cpu = clock()
    found = [index.search(queries[at : at + command["batch"]], command["topK"])[1]
             for at in range(0, len(queries), command["batch"])]
    done = clock()
    np.concatenate(found).astype(np.int32).tofile(command["queries"] + ".ids")
    return {"seconds": done[0] - wall, "cpuSeconds": done[1] - cpu}


def time_products():
    faiss.omp_set_num_threads(1)
    vectors = np.random.default_rng(0).standard_normal((20000, 768), dtype=np.float32)
    index = faiss.IndexFlatIP(768)
    index.add(vectors)
    costs = []
    for _ in range(4):
        started = clock()[1]
        index.search(vectors[:256], 10)
        costs.append(clock()[1] - started)
    return min(costs)


if sys.argv[1:] == ["time"]:
    print(time_products())
    sys.exit()
core = f", OPENBLAS_CORETYPE={os.environ[CORE]}" if os.environ[CORE] else ""
print(json.dumps({"version": faiss.__version__ + core}), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    print(json.dumps(build(command) if "build" in command else search(command)), flush=True)
