"""The peer of bench/engine/rollout.ts: searching trajectories in lockstep with Hugging Face transformers' generate.

`resubmitting` sends the whole context again each turn; `keeping` goes on from the cache of the turn before. All
trajectories have one length, so nothing is padded and none waits for another.

Run: python rollout_peer.py [--shape world] [--dtype float32] [--threads 2] [--trajectories 16] [--turns 4] [--prompt 100]
[--new 60] [--observation 300] [--rounds 3].
"""
import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from shapes import DTYPES, SHAPES, model_of  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--shape", choices=SHAPES, default="world")
parser.add_argument("--dtype", choices=DTYPES, default="float32")
for name, value in {"threads": 2, "trajectories": 16, "turns": 4, "prompt": 100, "new": 60, "observation": 300,
                    "rounds": 3}.items():
    parser.add_argument(f"--{name}", type=int, default=value)
options = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402
from transformers import DynamicCache  # noqa: E402

torch.set_num_threads(options.threads)
model = model_of(options.shape, options.dtype).eval()
vocab_size = SHAPES[options.shape]["vocab_size"]


def ids(length, salt):
    return torch.tensor([[(t * 31 + (salt + i) * 7) % vocab_size for t in range(length)]
                         for i in range(options.trajectories)])


def rollout(is_keeping, number):
    cache = None
    context = ids(options.prompt, 1009 * number)
    for turn in range(options.turns):
        if turn > 0:
            context = torch.cat([context, ids(options.observation, 1009 * number + 100 * turn)], 1)
        cache = cache if is_keeping and cache is not None else DynamicCache(config=model.config)
        with torch.no_grad():
            context = model.generate(context, attention_mask=torch.ones_like(context), past_key_values=cache,
                                     do_sample=True, top_k=0, min_new_tokens=options.new, max_new_tokens=options.new,
                                     pad_token_id=0)


def measure(is_keeping):
    seconds = []
    for number in range(options.rounds + 1):
        started = time.perf_counter()
        rollout(is_keeping, number)
        seconds.append(time.perf_counter() - started)
    return {"median": statistics.median(seconds[1:]), "best": min(seconds[1:])}


print(json.dumps({"resubmitting": measure(False), "keeping": measure(True)}))
