/** What `trajectories.jsonl` says of each token is what was sampled and trained. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { LoggedTrajectory } from "../../../apps/runs/trajectories/logged-trajectory.ts";
import { unpackFloats, unpackIds } from "../../../lib/data/logs/packed-numbers.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import type { RlMetrics } from "../../../lib/train/rl-options.ts";
import { tinyVocab } from "../tiny.ts";
import { withFolder } from "./kill.ts";
import { type BanditOptions, runBandit } from "./rl-run.ts";

interface Played {
  readonly rows: readonly LoggedTrajectory[];
  readonly trajectories: readonly Trajectory[];
  readonly metrics: readonly RlMetrics[];
}

async function play(options: Omit<BanditOptions, "folder" | "onStep">): Promise<Played> {
  return withFolder(async (folder) => {
    const trajectories: Trajectory[] = [];
    const metrics: RlMetrics[] = [];
    const onStep: BanditOptions["onStep"] = (step, played) => {
      metrics.push(step);
      trajectories.push(...played);
    };
    await runBandit({ ...options, folder, onStep });
    const lines = (await readFile(join(folder, "trajectories.jsonl"), "utf8")).trimEnd().split("\n");
    return { rows: lines.map((line) => JSON.parse(line) as LoggedTrajectory), trajectories, metrics };
  });
}

/** One column over all tokens of the policy, in order. */
function policyColumn(
  rows: readonly LoggedTrajectory[],
  name: "gaps" | "entropies" | "advantages",
): number[] {
  return rows.flatMap(({ segments }) =>
    segments.flatMap(({ kind, tokens, [name]: packed }) =>
      kind === "policy" && packed !== undefined ? [...unpackFloats(packed, tokens)] : [],
    ),
  );
}

const deviationOf = (values: readonly number[]): number => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
};

test("the log has each token's id and log-probability as sampled, all their bits", async () => {
  const { rows, trajectories } = await play({ algorithm: algorithms.ppo, steps: 2 });
  assert.equal(rows.length, 64);
  for (const [i, { segments }] of rows.entries()) {
    const sampled = trajectories[i]!.segments;
    assert.equal(segments.length, sampled.length);
    for (const [j, { kind, ids, logprobs, tokens }] of segments.entries()) {
      assert.deepEqual(unpackIds(ids!), sampled[j]!.tokens);
      if (kind === "policy") assert.deepEqual(unpackFloats(logprobs!, tokens), sampled[j]!.logprobs);
      else assert.equal(logprobs, undefined);
    }
  }
});

test("gaps and advantages in the log are those of the update, observations have none", async () => {
  const { rows, metrics } = await play({ algorithm: algorithms.ppo, steps: 1 });
  const gaps = policyColumn(rows, "gaps").map(Math.abs);
  assert.equal(Math.max(...gaps), metrics[0]!["logprob_gap/max"]);
  // PPO whitens them over the step: mean 0 and deviation 1, to what f32 rounds.
  const advantages = policyColumn(rows, "advantages");
  assert.equal(advantages.length, metrics[0]!["tokens/policy"]);
  assert.ok(Math.abs(advantages.reduce((sum, value) => sum + value, 0)) < 1e-3);
  assert.ok(Math.abs(deviationOf(advantages) - 1) < 1e-3);
  const entropies = policyColumn(rows, "entropies");
  assert.equal(entropies.length, advantages.length);
  // No distribution over so many tokens has a greater one.
  assert.ok(entropies.every((entropy) => entropy > 0 && entropy <= Math.log(tinyVocab) + 1e-5));
  for (const { segments } of rows) {
    const others = segments.filter(({ kind }) => kind !== "policy");
    for (const { gaps: gap, entropies: entropy, advantages: advantage } of others)
      assert.deepEqual([gap, entropy, advantage], [undefined, undefined, undefined]);
  }
});

const onePass = { ...algorithms.ppo, miniBatches: 1 };

// With an entropy bonus no trajectory is left out of the update, whose own entropy is then that of all tokens.
const entropyCoef = 0.001;

for (const [name, options] of [
  ["rloo", { algorithm: { ...algorithms.rloo, entropyCoef } }],
  ["dr-grpo", { algorithm: { ...algorithms["dr-grpo"], entropyCoef } }],
  ["one step on the rollout's log-probabilities", { algorithm: onePass, oldLogprobs: "rollout" }],
] as const) {
  test(`${name} logs gaps and entropies too, and learns the same as without`, async () => {
    const { rows, metrics } = await play({ ...options, steps: 2 });
    const { metrics: bare } = await play({ ...options, steps: 2, logTokens: false });
    for (const step of metrics) {
      const own = rows.filter((row) => row.step === step.step);
      const [gaps, entropies] = [policyColumn(own, "gaps"), policyColumn(own, "entropies")];
      assert.equal(gaps.length, step["tokens/policy"]);
      assert.equal(Math.max(...gaps.map(Math.abs)), step["logprob_gap/max"]);
      const mean = entropies.reduce((sum, entropy) => sum + entropy, 0) / gaps.length;
      // Another order of summing f32.
      assert.ok(Math.abs(mean - (step["policy/entropy"] ?? Number.NaN)) < 1e-5);
    }
    const norms = (steps: readonly RlMetrics[]) => steps.map(({ grad_norm: norm }) => norm);
    assert.deepEqual(norms(bare), norms(metrics));
  });
}

test("a group's rollouts have advantages against their mean, written as one number each", async () => {
  const { rows } = await play({ algorithm: algorithms["dr-grpo"], steps: 1 });
  for (const { group, reward, advantage, segments, isTrained, question } of rows) {
    const own = rows.filter((other) => other.group === group);
    assert.equal(own.length, 8);
    assert.ok(own.every((other) => other.question === question));
    const mean = own.reduce((sum, other) => sum + other.reward!, 0) / own.length;
    assert.ok(isTrained);
    assert.ok(Math.abs(advantage! - (reward! - mean)) < 1e-6);
    const policy = segments.filter(({ kind }) => kind === "policy");
    for (const { advantages } of policy) assert.ok(Math.abs(Number(advantages) - advantage!) < 1e-6);
  }
});

test("a training on observations too has advantages on them", async () => {
  const algorithm = { ...algorithms.reinforce, kl: undefined, lossOn: "all" as const };
  const { rows } = await play({ algorithm, steps: 1 });
  const kinds = rows[0]!.segments.map(({ kind, advantages }) => [kind, advantages !== undefined]);
  assert.deepEqual(kinds, [
    ["prompt", false],
    ["policy", true],
    ["observation", true],
    ["policy", true],
  ]);
});

test("without the tokens the log has texts alone, and says the same of whole trajectories", async () => {
  const options = { algorithm: algorithms.ppo, steps: 1 };
  const [whole, short] = [await play(options), await play({ ...options, logTokens: false })];
  const columns = ["ids", "logprobs", "gaps", "entropies", "advantages"] as const;
  const bare = whole.rows.map(({ segments, ...head }) => ({
    ...head,
    segments: segments.map((segment) =>
      Object.fromEntries(Object.entries(segment).filter(([name]) => !columns.some((each) => each === name))),
    ),
  }));
  assert.deepEqual(short.rows, bare);
});
