/** When a training counts as collapsed, on curves as runs really have them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Dice } from "../../lib/base/random.ts";
import { type Collapse, CollapseGuard } from "../../lib/train/collapse.ts";

type Row = Record<string, number>;

/** The first collapse that a guard sees in a run, and its step. */
function firstCollapse(steps: number, row: (step: number) => Row): (Collapse & { step: number }) | undefined {
  const guard = new CollapseGuard();
  for (let step = 0; step < steps; step += 1) {
    const collapse = guard.add(row(step));
    if (collapse) return { ...collapse, step };
  }
  return undefined;
}

/** Uniform noise of a width. */
function noise(seed: number): (width: number) => number {
  const dice = new Dice(seed);
  return (width) => (dice.next() - 0.5) * width;
}

const healthy = { "policy/entropy": 0.8, "tokens/response": 120, "turns/invalid_share": 0.1 };

test("noise, slow learning and a falling entropy with a rising reward are no collapse", () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const random = noise(seed);
    const flat = firstCollapse(2000, () => ({ ...healthy, "reward/total": 0.3 + random(0.1) }));
    assert.equal(flat, undefined, `flat, seed ${seed}`);
    const learning = firstCollapse(300, (step) => ({
      ...healthy,
      "reward/total": 0.3 + step / 500 + random(0.1),
      "policy/entropy": 0.8 * Math.exp(-step / 20),
      "tokens/response": 120 + 2 * step,
    }));
    assert.equal(learning, undefined, `learning, seed ${seed}`);
  }
});

test("a reward that loses what it had gained is one, long before it reaches nothing", () => {
  const random = noise(1);
  const seen = firstCollapse(200, (step) => {
    const reward = step < 60 ? 0.3 + step / 100 : Math.max(0, 0.9 - (step - 60) / 20);
    return { ...healthy, "reward/total": reward + random(0.05) };
  });
  assert.equal(seen?.metric, "reward/total");
  assert.ok(seen.step > 60 && seen.step < 85, `at step ${seen.step}`);
});

test("a reward below its start is one", () => {
  const seen = firstCollapse(60, (step) => ({
    ...healthy,
    "reward/total": (step < 20 ? 0.5 : 0.1) + (step % 2) / 50,
  }));
  assert.equal(seen?.metric, "reward/total");
});

test("entropy, length, invalid turns and log-probabilities are watched where the reward does not rise", () => {
  const cases: [string, Row][] = [
    ["policy/entropy", { "policy/entropy": 4 }],
    ["policy/entropy", { "policy/entropy": 0.001 }],
    ["tokens/response", { "tokens/response": 500 }],
    ["tokens/response", { "tokens/response": 5 }],
    ["turns/invalid_share", { "turns/invalid_share": 0.9 }],
    ["logprob_gap/mean", { "logprob_gap/mean": 0.1 }],
  ];
  const before = { ...healthy, "reward/total": 0.3, "logprob_gap/mean": 0.001 };
  for (const [metric, after] of cases) {
    const seen = firstCollapse(60, (step) => (step < 20 ? before : { ...before, ...after }));
    assert.equal(seen?.metric, metric, JSON.stringify(after));
    assert.match(seen.message, /in the first 10 steps, .* in the last/);
  }
});

test("a number that is not finite is one at once", () => {
  const guard = new CollapseGuard();
  assert.equal(guard.add({ ...healthy, "reward/total": Number.NaN })?.metric, "reward/total");
});

test("a window that is not a whole number above 0 is refused", () => {
  assert.throws(() => new CollapseGuard({ window: 0 }), { code: "ERR_RANGE" });
});
