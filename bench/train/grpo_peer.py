"""A peer of bench/train/grpo.ts: the same GRPO step as a plain loop over Hugging Face transformers.

Run: python grpo_peer.py [--shape world] [--dtype float32] [--threads 2] [--questions 8] [--samples 8] [--prompt 64]
[--new 64] [--steps 5] [--lora 0]. One `generate` of all samples with a cache, rewards, group advantages, one forward and
backward of all samples with their clipped ratio, torch's fused AdamW. TRL's trainer does this and more (data sets, second
scoring, metrics), so that it takes longer than this loop. Lora: rank of peft's adapter on every projection.
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
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--questions", type=int, default=8)
parser.add_argument("--samples", type=int, default=8)
parser.add_argument("--prompt", type=int, default=64)
parser.add_argument("--new", type=int, default=64)
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--lora", type=int, default=0)
options = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402

torch.set_num_threads(options.threads)
model = model_of(options.shape, options.dtype, options.lora)
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimiser = torch.optim.AdamW(trained, lr=1e-6, fused=True)
vocab_size = SHAPES[options.shape]["vocab_size"]
prompts = torch.tensor([[(t * 31 + question * 7) % vocab_size for t in range(options.prompt)]
                        for question in range(options.questions) for _ in range(options.samples)])
rewards = torch.tensor([sample % 2 for _ in range(options.questions) for sample in range(options.samples)]).float()


def logprobs_of(ids):
    logits = model(input_ids=ids, logits_to_keep=options.new + 1).logits[:, :-1].float()
    return torch.log_softmax(logits, -1).gather(-1, ids[:, -options.new:, None]).squeeze(-1)


def rollout():
    with torch.no_grad():
        return model.generate(input_ids=prompts, attention_mask=torch.ones_like(prompts), do_sample=True, top_k=0,
                              temperature=1.0, max_new_tokens=options.new, min_new_tokens=options.new, pad_token_id=0)


def train(ids):
    groups = rewards.view(options.questions, options.samples)
    advantages = ((groups - groups.mean(1, True)) / (groups.std(1, keepdim=True) + 1e-4)).flatten()[:, None]
    logprobs = logprobs_of(ids)
    ratio = (logprobs - logprobs.detach()).exp()
    loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimiser.step()
    optimiser.zero_grad()


steps = []
for step in range(options.steps + 1):
    started = time.perf_counter()
    ids = rollout()
    between = time.perf_counter()
    train(ids)
    if step > 0:
        steps.append((between - started, time.perf_counter() - between))
median = statistics.median
print(json.dumps({"rolloutSeconds": round(median(one for one, _ in steps), 3),
                  "trainSeconds": round(median(one for _, one in steps), 3),
                  "seconds": round(median(sum(one) for one in steps), 3),
                  "peakGigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)}))
