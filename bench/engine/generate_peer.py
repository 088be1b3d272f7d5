"""The peer of bench/engine/generate.ts: sampling with Hugging Face transformers' generate, prompts of one length.

Run: python generate_peer.py [--shape world] [--dtype float32] [--threads 2] [--batch 128] [--prompt 64] [--new 128]
[--rounds 5].
"""
import argparse
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from shapes import DTYPES, SHAPES, model_of  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--shape", choices=SHAPES, default="world")
parser.add_argument("--dtype", choices=DTYPES, default="float32")
parser.add_argument("--prompt", type=int, default=64)
parser.add_argument("--new", type=int, default=128)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--rounds", type=int, default=5)
options = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402

torch.set_num_threads(options.threads)
model = model_of(options.shape, options.dtype).eval()
vocab_size = SHAPES[options.shape]["vocab_size"]
prompts = torch.tensor([[(t * 31 + s * 7) % vocab_size for t in range(options.prompt)] for s in range(options.batch)])
rates, cpu_rates, prefill_rates, decode_rates = [], [], [], []


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def generate(new_tokens):
    started = time.perf_counter()
    with torch.no_grad():
        model.generate(prompts, attention_mask=torch.ones_like(prompts), do_sample=True, top_k=0,
                       min_new_tokens=new_tokens, max_new_tokens=new_tokens, pad_token_id=0)
    return time.perf_counter() - started


for _ in range(options.rounds + 1):
    prefill, cpu = generate(1), cpu_seconds()
    both = generate(options.new)
    rates.append(options.batch * options.new / both)
    cpu_rates.append(options.batch * options.new / (cpu_seconds() - cpu))
    prefill_rates.append(options.batch * options.prompt / prefill)
    decode_rates.append(options.batch * (options.new - 1) / (both - prefill))
rates, cpu_rates, prefill_rates, decode_rates = rates[1:], cpu_rates[1:], prefill_rates[1:], decode_rates[1:]


def summary(sample):
    return {"median": float(f"{statistics.median(sample):.4g}"), "best": float(f"{max(sample):.4g}")}


print(json.dumps({"prefill": summary(prefill_rates), "decode": summary(decode_rates),
                  "tokensPerSecond": round(statistics.median(rates), 1), "best": round(max(rates), 1),
                  "tokensPerCpuSecond": round(statistics.median(cpu_rates), 1)}))
