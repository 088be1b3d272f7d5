/** When a training counts as collapsed, on curves as runs really have them. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Dice } from "../../lib/base/random.ts";
import { algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { type Collapse, CollapseGuard } from "../../lib/train/collapse.ts";
import { withFolder } from "./run/kill.ts";
import { type BanditOptions, runBandit } from "./run/rl-run.ts";

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
  for (let seed = 0; seed < 6; seed += 1) {
    const random = noise(seed);
    const flat = firstCollapse(2000, () => ({ ...healthy, "reward/total": 0.3 + random(0.1) }));
    assert.equal(flat, undefined, `flat, seed ${seed}`);
    const saturated = firstCollapse(300, (step) => ({
      ...healthy,
      "reward/total": step % 40 === 0 ? 0.95 : 1,
    }));
    assert.equal(saturated, undefined, "a perfect reward with a dip now and then");
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

/** A bandit that is rewarded for four steps and then no longer; the steps it finished. */
async function runPoor(
  folder: string,
  options: Pick<BanditOptions, "steps" | "collapse" | "best">,
): Promise<number[]> {
  const seen: number[] = [];
  const isPoor = (step: number): boolean => step >= 4;
  await runBandit({
    ...{
      algorithm: algorithms["reinforce++-baseline"],
      folder,
      rewardFactor: (step) => (isPoor(step) ? 0 : 1),
    },
    ...options,
    onStep: ({ step }) => seen.push(step),
  });
  return seen;
}

test("a training whose policy collapses ends with an error that names metric, numbers and remedy", async () => {
  await withFolder(async (folder) => {
    const collapse = { window: 2 };
    await assert.rejects(runPoor(folder, { steps: 10, collapse }), {
      code: "ERR_STATE",
      message: /^step 6: the policy has collapsed: reward\/total lost what it had gained .* Remedy: /,
    });
    // Resumed from the checkpoint of step 3 it is seen at the same step again: the guard knows the steps before.
    await assert.rejects(runPoor(folder, { steps: 10, collapse }), { message: /^step 6: / });
  });
});

test("a collapse is answered with the best checkpoint's weights, and the run has ended", async () => {
  await withFolder(async (folder) => {
    const told: number[] = [];
    const collapse = {
      action: "rollback",
      window: 2,
      onRollback: (_: Collapse, step: number) => told.push(step),
    } as const;
    const best = { metric: "reward/total" };
    const seen = await runPoor(folder, { steps: 10, collapse, best });
    assert.deepEqual([seen, told.length], [[1, 2, 3, 4, 5, 6], 1]);
    const bytes = (path: string): Promise<Buffer> => readFile(join(folder, path, "model.safetensors"));
    assert.deepEqual(await bytes("model"), await bytes("checkpoints/best"));
    assert.deepEqual(await runPoor(folder, { steps: 10, collapse, best }), [], "it has ended");
    const without = runPoor(join(folder, "other"), { steps: 1, collapse });
    await assert.rejects(without, { code: "ERR_ARGUMENT", message: /rollback needs run\.best/ });
  });
});

test("collapses are passed over when they are to be ignored", async () => {
  await withFolder(async (folder) => {
    const seen = await runPoor(folder, { steps: 5, collapse: { action: "ignore", window: 2 } });
    assert.deepEqual(seen, [1, 2, 3, 4, 5]);
  });
});
