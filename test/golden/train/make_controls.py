"""Golden numbers of ReMax's advantages and of the adaptive KL weight, by the formulas as verl has them, in numpy float64.

Run: python make_controls.py; writes controls.json.
"""
import json
from pathlib import Path

import numpy as np

rng = np.random.default_rng(23)

remax = []
for length, score, baseline in [(1, 1.0, 0.0), (5, 1.0, 0.25), (9, 0.0, 1.0), (4, -0.5, -0.5)]:
    penalties = 0.05 * np.abs(rng.normal(size=length))
    rewards = -penalties
    rewards[-1] += score
    returns = np.flip(np.cumsum(np.flip(rewards)))
    remax.append({"rewards": rewards.tolist(), "baseline": baseline, "advantages": (returns - baseline).tolist()})

control = []
for target, horizon, trajectories in [(0.1, 1000.0, 32), (0.02, 10000.0, 512)]:
    coef = 0.005
    steps = []
    for kl in np.abs(rng.normal(scale=3 * target, size=8)).tolist() + [target, 0.0]:
        error = np.clip(kl / target - 1, -0.2, 0.2)
        coef = float(coef * (1 + error * trajectories / horizon))
        steps.append({"kl": kl, "coef": coef})
    control.append({"target": target, "horizon": horizon, "trajectories": trajectories, "first": 0.005, "steps": steps})

Path(__file__).with_name("controls.json").write_text(json.dumps({"remax": remax, "control": control}, indent=1) + "\n")
