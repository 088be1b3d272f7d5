"""Writes statistics.json: confidence intervals and tests over made-up scores, by numpy and scipy.

The bootstrap is written out in numpy over the same seeded draws (splitmix32, restated here), so that its numbers are
exact; scipy's own bootstrap over the same scores, with draws of its own, says how close they must be to a program that
shares nothing. The sign test is scipy.stats.binomtest. Run: python statistics.py
"""
import json
from pathlib import Path

import numpy as np
from scipy import stats

MASK = 0xFFFFFFFF
RESAMPLES = 1000


class SplitMix32:
    def __init__(self, seed):
        self.state = 0x9E3779B9 ^ seed
        self.next()

    def next(self):
        self.state = (self.state + 0x9E3779B9) & MASK
        z = self.state
        z = ((z ^ (z >> 16)) * 0x21F0AAAD) & MASK
        z = ((z ^ (z >> 15)) * 0x735A2D97) & MASK
        return (z ^ (z >> 15)) / 2**32


def resampled_means(values, seed):
    dice = SplitMix32(seed)
    count = len(values)
    draws = np.array([[int(dice.next() * count) for _ in range(count)] for _ in range(RESAMPLES)])
    with np.errstate(invalid="ignore"):
        return np.array([np.nanmean(values[draw]) for draw in draws])


def interval(means):
    return np.percentile(means, [2.5, 97.5]).tolist()


def scipy_interval(values):
    result = stats.bootstrap((values,), np.mean, n_resamples=20000, method="percentile", rng=np.random.default_rng(1))
    return [float(result.confidence_interval.low), float(result.confidence_interval.high)]


def compare(first, second, seed):
    apart = second - first
    means = resampled_means(apart, seed)
    extreme = min((means <= 0).sum(), (means >= 0).sum())
    only_first, only_second = int((first > second).sum()), int((first < second).sum())
    test = stats.binomtest(min(only_first, only_second), only_first + only_second, 0.5)
    return {
        "first": float(first.mean()), "second": float(second.mean()), "difference": float(apart.mean()),
        "interval": interval(means), "pValue": float(min(1, 2 * (1 + extreme) / (RESAMPLES + 1))),
        "scipyInterval": scipy_interval(apart), "onlyFirst": only_first, "onlySecond": only_second,
        "signTest": float(test.pvalue),
    }


rng = np.random.default_rng(20)
em = (rng.random(150) < 0.4).astype(float)
f1 = np.where(em == 1, 1.0, np.round(rng.random(150) * (rng.random(150) < 0.5), 3))
some = np.where(rng.random(150) < 0.8, f1, np.nan)
better = np.where(rng.random(150) < 0.25, 1.0, em)
alike = np.where(rng.random(150) < 0.1, 1.0 - em, em)

columns = {"em": em, "f1": f1, "some": some}
golden = {
    "columns": {name: [None if np.isnan(v) else v for v in values.tolist()] for name, values in columns.items()},
    "means": {name: float(np.nanmean(values)) for name, values in columns.items()},
    "intervals": {name: interval(resampled_means(values, 7)) for name, values in columns.items()},
    "scipyIntervals": {name: scipy_interval(values) for name, values in columns.items() if name != "some"},
    "better": better.tolist(),
    "alike": alike.tolist(),
    "comparisons": {"better": compare(em, better, 3), "alike": compare(em, alike, 3)},
    "signTests": [
        {"onlyFirst": a, "onlySecond": b, "pValue": float(stats.binomtest(min(a, b), a + b, 0.5).pvalue)}
        for a, b in [(1, 0), (5, 5), (3, 12), (40, 70), (900, 1010), (30000, 30500)]
    ],
}
(Path(__file__).parent / "statistics.json").write_text(json.dumps(golden) + "\n")
