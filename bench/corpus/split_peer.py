"""The peer of bench/corpus/split.ts: the published 100-word split, written plainly, from the same file to JSON Lines.

Run: python split_peer.py kilt-100000.jsonl passages.jsonl
"""

import hashlib
import json
import resource
import sys
import time

source, target = sys.argv[1:]
began = time.perf_counter()
number = 0
with open(source, encoding="utf-8") as pages, open(target, "w", encoding="utf-8") as passages:
    for line in pages:
        page = json.loads(line)
        words = "".join(page["text"]).replace("BULLET::::", "").replace("Section::::", "").split()
        for begin in range(0, len(words), 100):
            passage = {"id": str(number), "title": page["wikipedia_title"], "text": " ".join(words[begin : begin + 100])}
            passages.write(json.dumps(passage, ensure_ascii=False, separators=(",", ":")) + "\n")
            number += 1
usage = resource.getrusage(resource.RUSAGE_SELF)
seconds, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
with open(target, "rb") as file:
    digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
print(json.dumps({"seconds": seconds, "cpu": cpu, "passagesPerSecond": round(number / seconds),
                  "passagesPerCpuSecond": round(number / cpu), "maxRssMb": usage.ru_maxrss >> 10, "sha256": digest}))
