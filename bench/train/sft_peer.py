"""The peer of bench/train/sft.ts: the same SFT step with Hugging Face transformers and torch's fused AdamW.

Run: python sft_peer.py [--shape world] [--dtype float32] [--autocast] [--threads 2] [--sequences 48] [--length 0]
[--share 1] [--steps 12] [--batch 12] [--lora 0]. Lora: rank of peft's adapter on every projection. Sequences are padded in sorted mini-batches, its best
setting; padding is not counted.
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
parser.add_argument("--autocast", action="store_true", help="bf16 products, weights as --dtype says")
parser.add_argument("--sequences", type=int, default=48)
parser.add_argument("--length", type=int, default=0)
parser.add_argument("--share", type=float, default=1)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--batch", type=int, default=12)
parser.add_argument("--lora", type=int, default=0)
options = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402

torch.set_num_threads(options.threads)
model = model_of(options.shape, options.dtype, options.lora)
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
vocab_size = SHAPES[options.shape]["vocab_size"]
lengths = [options.length or 250 + (s * 37) % 200 for s in range(options.sequences)]
sequences = sorted(([(t * 31 + s * 7) % vocab_size for t in range(length)] for s, length in enumerate(lengths)), key=len)


def labels_of(one):
    first = 1 + int((1 - options.share) * (len(one) - 1))
    return [-100] * first + one[first:]


batches = []
for start in range(0, len(sequences), options.batch):
    part = sequences[start:start + options.batch]
    width = max(map(len, part))
    ids = torch.tensor([one + [0] * (width - len(one)) for one in part])
    mask = torch.tensor([[1] * len(one) + [0] * (width - len(one)) for one in part])
    labels = torch.tensor([labels_of(one) + [-100] * (width - len(one)) for one in part])
    batches.append((ids, mask, labels))
num_tokens = sum(map(len, sequences))
num_rows = sum(int((labels != -100).sum()) for _, _, labels in batches)
optimiser = torch.optim.AdamW(trained, lr=1e-3, fused=True)
rates, cpu_rates = [], []


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


for step in range(options.steps + 2):
    started, cpu = time.perf_counter(), cpu_seconds()
    for ids, mask, labels in batches:
        with torch.autocast("cpu", torch.bfloat16, enabled=options.autocast):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels, num_items_in_batch=num_rows).loss
        loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimiser.step()
    optimiser.zero_grad()
    if step >= 2:
        rates.append(num_tokens / (time.perf_counter() - started))
        cpu_rates.append(num_tokens / (cpu_seconds() - cpu))
print(json.dumps({"tokensPerStep": num_tokens, "tokensPerSecond": round(statistics.median(rates)),
                  "best": round(max(rates)), "tokensPerCpuSecond": round(statistics.median(cpu_rates)),
                  "peakGigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)}))
