"""The peer of bench/train/sft.ts: the same SFT step with Hugging Face transformers and torch's fused AdamW.

Run: python sft_peer.py [--threads 2] [--steps 12] [--batch 12]. Sequences are padded in sorted mini-batches, its best
setting; padding is not counted.
"""
import argparse
import json
import os
import resource
import statistics
import time

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--batch", type=int, default=12)
options = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402
from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: E402

torch.set_num_threads(options.threads)
model = Qwen2ForCausalLM(Qwen2Config(vocab_size=1500, hidden_size=128, intermediate_size=344, num_hidden_layers=4,
                                     num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=2048,
                                     tie_word_embeddings=True))
sequences = sorted(([(t * 31 + s * 7) % 1500 for t in range(250 + (s * 37) % 200)] for s in range(48)), key=len)
batches = []
for start in range(0, len(sequences), options.batch):
    part = sequences[start:start + options.batch]
    width = max(map(len, part))
    ids = torch.tensor([one + [0] * (width - len(one)) for one in part])
    mask = torch.tensor([[1] * len(one) + [0] * (width - len(one)) for one in part])
    batches.append((ids, mask, ids.masked_fill(mask == 0, -100)))
num_tokens = sum(map(len, sequences))
num_rows = num_tokens - len(sequences)
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
rates, cpu_rates = [], []


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


for step in range(options.steps + 2):
    started, cpu = time.perf_counter(), cpu_seconds()
    for ids, mask, labels in batches:
        model(input_ids=ids, attention_mask=mask, labels=labels, num_items_in_batch=num_rows).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    optimiser.zero_grad()
    if step >= 2:
        rates.append(num_tokens / (time.perf_counter() - started))
        cpu_rates.append(num_tokens / (cpu_seconds() - cpu))
print(json.dumps({"tokensPerStep": num_tokens, "tokensPerSecond": round(statistics.median(rates)),
                  "best": round(max(rates)), "tokensPerCpuSecond": round(statistics.median(cpu_rates))}))
