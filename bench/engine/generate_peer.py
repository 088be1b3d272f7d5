"""The peer of bench/engine/generate.ts: sampling with Hugging Face transformers' generate, prompts of one length.

Run: python generate_peer.py [--threads 2] [--batch 128] [--rounds 5].
"""
import argparse
import json
import os
import resource
import statistics
import time

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--rounds", type=int, default=5)
options = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402
from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: E402

torch.set_num_threads(options.threads)
model = Qwen2ForCausalLM(Qwen2Config(vocab_size=1500, hidden_size=128, intermediate_size=384, num_hidden_layers=4,
                                     num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1024,
                                     tie_word_embeddings=True)).eval()
max_tokens = 128
prompts = torch.tensor([[(t * 31 + s * 7) % 1500 for t in range(64)] for s in range(options.batch)])
rates, cpu_rates = [], []


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


for _ in range(options.rounds + 1):
    started, cpu = time.perf_counter(), cpu_seconds()
    with torch.no_grad():
        model.generate(prompts, attention_mask=torch.ones_like(prompts), do_sample=True, top_k=0,
                       min_new_tokens=max_tokens, max_new_tokens=max_tokens, pad_token_id=0)
    rates.append(options.batch * max_tokens / (time.perf_counter() - started))
    cpu_rates.append(options.batch * max_tokens / (cpu_seconds() - cpu))
rates, cpu_rates = rates[1:], cpu_rates[1:]
print(json.dumps({"tokensPerSecond": round(statistics.median(rates)), "best": round(max(rates)),
                  "tokensPerCpuSecond": round(statistics.median(cpu_rates))}))
