/** Reinforcement learning whose rollouts run ahead: what it learns from, how it ends, and what stays as it was. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Engine } from "../../../lib/engine/engine.ts";
import type { Model } from "../../../lib/model/model.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import type { Algorithm } from "../../../lib/train/algorithm/algorithm.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { rl } from "../../../lib/train/rl.ts";
import type { RlMetrics, RlOptions } from "../../../lib/train/rl-options.ts";
import { withFolder, withoutClock } from "../run/kill.ts";
import { rolloutsOn, shareOfWanted } from "../run/rl-run.ts";
import { tinyModel } from "../tiny.ts";
import { type Settled, unsettled } from "./promise.ts";

const questions = [0, 1, 2, 3].map((i) => ({ id: `q${i}`, question: `${i}`, answers: ["x"] }));

interface Bandit {
  readonly model: Model;
  readonly trainer: Trainer;
  readonly engine: Engine;
}

async function withBandit<T>(use: (bandit: Bandit) => Promise<T>): Promise<T> {
  await using model = await tinyModel();
  await using engine = await Engine.open(model, { numBlocks: 200, blockTokens: 16 });
  await using trainer = await Trainer.open(model, { weightDecay: 0 });
  return await use({ model, trainer, engine });
}

const algorithm: Algorithm = { advantage: "grpo", miniBatches: 2 };

function optionsOf({ trainer, engine }: Bandit, batch: Partial<RlOptions["batch"]> = {}): RlOptions {
  return {
    learners: { trainer },
    task: { questions, rollout: rolloutsOn(engine), reward: shareOfWanted },
    algorithm,
    batch: { questions: 4, samples: 8, maxTokens: 64, ...batch },
    steps: 4,
    learningRate: { policy: () => 1e-2 },
    seed: 11,
  };
}

/** Metrics and trajectories of every step. */
async function runOf(options: RlOptions) {
  const metrics: RlMetrics[] = [];
  const trajectories: (readonly Trajectory[])[] = [];
  await rl({
    ...options,
    onStep: async (...told) => {
      metrics.push(told[0]);
      trajectories.push(told[1]);
      await options.onStep?.(...told);
    },
  });
  return { metrics, trajectories };
}

const runsOf = ({ segments }: Trajectory) => segments.flatMap(({ versionRuns = [] }) => versionRuns);

for (const [name, chosen, batch] of [
  ["truncated importance sampling", algorithm, {}],
  ["masked importance sampling", { ...algorithm, correction: { by: "mis" } }, {}],
  ["CISPO", { ...algorithm, objective: "cispo", clip: { low: 1, high: 4 } }, {}],
  ["ratios from the rollout", algorithm, { oldLogprobs: "rollout" }],
  ["one optimiser step a batch", { advantage: "rloo" }, {}],
  ["dynamic sampling", { advantage: "rloo", dynamicSampling: 1 }, {}],
  ["ReMax, whose baseline is sampled too", { advantage: "remax" }, {}],
] as const satisfies readonly (readonly [string, Algorithm, Partial<RlOptions["batch"]>])[]) {
  test(`rollouts two steps ahead learn to emit the rewarded token: ${name}`, async () => {
    await withBandit(async (bandit) => {
      const options = optionsOf(bandit, { staleness: 2, ...batch });
      const { metrics } = await runOf({ ...options, algorithm: chosen, steps: 40 });
      const [first, last] = [metrics[0]!, metrics.at(-1)!];
      assert.ok(first["reward/mean"]! < 0.2, `began at ${first["reward/mean"]}`);
      assert.ok(last["reward/mean"]! > 0.6, `ended at ${last["reward/mean"]}`);
      for (const { "staleness/max": max } of metrics) assert.ok(max! <= 2, `${max}`);
      assert.ok(metrics.some(({ "staleness/mean": mean }) => mean! > 0.5));
      assert.equal("correction/ratio" in first, !("oldLogprobs" in batch));
      assert.equal((await bandit.engine.stats()).numSequences, 0);
    });
  });
}

test("rollouts under way as weights change go on under the new ones, and say which weights sampled which tokens", async () => {
  await withBandit(async (bandit) => {
    const { trainer, engine } = bandit;
    let numOpened = 0;
    const begun = new Map<number, Settled<void>>();
    // Those of the second step stop between their turns until the first has changed the weights.
    const between = async (): Promise<void> => {
      numOpened += 1;
      if (numOpened <= 32) return;
      const waiting = begun.get(trainer.numSteps) ?? unsettled<void>();
      if (trainer.numSteps === 0) begun.set(0, waiting);
      else waiting.resolve();
      await waiting.promise;
    };
    const options = optionsOf(bandit, { staleness: 1 });
    const rollout = rolloutsOn(engine, undefined, between);
    const { trajectories, metrics } = await runOf({
      ...options,
      task: { ...options.task, rollout },
      steps: 2,
      onStep: () => begun.get(0)?.resolve(),
    });
    const [fresh, stale] = trajectories.map((step) => step.map((each) => runsOf(each)));
    const first = fresh![0]![0]!.weightsVersion;
    const ofVersions = (versions: readonly number[]) =>
      versions.map((version) => ({ weightsVersion: first + version, numTokens: 3 }));
    for (const runs of fresh!) assert.deepEqual(runs, ofVersions([0, 0]));
    for (const runs of stale!) assert.deepEqual(runs, ofVersions([0, 2]));
    assert.equal(metrics[0]!["staleness/max"], 0);
    assert.deepEqual([metrics[1]!["staleness/mean"], metrics[1]!["staleness/max"]], [0.5, 1]);
    // Of the tokens of the step's own weights: the others differ by what was learnt.
    assert.equal(metrics[1]!["logprob_gap/max"], 0);
  });
});

test("where nothing is stale, a correction changes neither metrics nor weights by a bit", async () => {
  const runs: unknown[] = [];
  for (const correction of [undefined, { by: "tis" }, { by: "mis" }] as const) {
    await withBandit(async (bandit) => {
      const { metrics } = await runOf({
        ...optionsOf(bandit),
        algorithm: { ...algorithm, ...(correction && { correction }) },
      });
      const common = metrics.map(({ "correction/ratio": _ratio, "correction/share": _share, ...each }) =>
        withoutClock(each),
      );
      runs.push([common, await bandit.model.parameter("model.embed_tokens.weight")]);
      if (correction !== undefined) {
        for (const each of metrics)
          assert.deepEqual([each["correction/ratio"], each["correction/share"]], [1, 0]);
      }
    });
  }
  assert.deepEqual(runs[1], runs[0]);
  assert.deepEqual(runs[2], runs[0]);
});

test("an evaluation sees the weights of its step alone, whatever is under way beside it", async () => {
  await withBandit(async (bandit) => {
    const { engine, model } = bandit;
    const greedy = async (on: Engine): Promise<number[]> => {
      const sequence = on.open(Int32Array.of(1, 2, 11), { seed: 1 });
      const { logprobs } = await sequence.generate({ maxTokens: 20, temperature: 0 });
      sequence.close();
      return [...logprobs];
    };
    const evaluate = async (): Promise<Record<string, number>> => {
      const beside = await greedy(engine);
      await using alone = await model.clone();
      await using other = await Engine.open(alone, { numBlocks: 20, blockTokens: 16 });
      assert.deepEqual(beside, await greedy(other));
      return { "eval/seen": 1 };
    };
    const options = optionsOf(bandit, { staleness: 2 });
    const { metrics } = await runOf({ ...options, evaluation: { every: 1, evaluate } });
    assert.ok(metrics.every((each) => each["eval/seen"] === 1));
  });
});

test("however a run ends, nothing stays under way", async () => {
  const caller = new AbortController();
  const ends: readonly [string, Partial<RlOptions>, RegExp | undefined][] = [
    ["endWhen", { endWhen: ({ step }) => step === 2 }, undefined],
    [
      "an error of the caller's",
      {
        onStep: () => {
          throw new Error("no more");
        },
      },
      /no more/,
    ],
    ["the signal", { signal: caller.signal, onStep: () => caller.abort() }, /abort/],
  ];
  for (const [name, how, message] of ends) {
    await withBandit(async (bandit) => {
      const running = rl({ ...optionsOf(bandit, { staleness: 3 }), steps: 20, ...how });
      if (message === undefined) await running;
      else await assert.rejects(running, message);
      assert.equal((await bandit.engine.stats()).numSequences, 0, name);
    });
  }
});

test("a rollout that fails ahead of its step ends the run there, and the steps before it are kept", async () => {
  await withFolder(async (folder) => {
    await withBandit(async (bandit) => {
      const options = optionsOf(bandit, { staleness: 1 });
      let numAsked = 0;
      const rollout: typeof options.task.rollout = async (question, how) => {
        numAsked += 1;
        if (numAsked > 8) throw new Error("no tokens today");
        return options.task.rollout(question, how);
      };
      const run = { folder, checkpointEvery: 0 };
      await assert.rejects(rl({ ...options, task: { ...options.task, rollout }, run }), /no tokens today/);
      assert.equal((await bandit.engine.stats()).numSequences, 0);
      const lines = (await readFile(join(folder, "metrics.jsonl"), "utf8")).trim().split("\n");
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as RlMetrics).step),
        [1, 2],
      );
    });
  });
});

test("a resumed run asks what it would have asked, begins what was under way again, and keeps its staleness", async () => {
  await withFolder(async (folder) => {
    const asked: string[][] = [];
    const runUntil = (steps: number, staleness: number) =>
      withBandit(async (bandit) => {
        const options = optionsOf(bandit, { questions: 2, staleness });
        const { metrics } = await runOf({
          ...options,
          steps,
          run: { folder, checkpointEvery: 1 },
          onStep: (_, trajectories) =>
            void asked.push([...new Set(trajectories.map(({ questionId }) => questionId))]),
        });
        return metrics;
      });
    await runUntil(3, 1);
    await assert.rejects(runUntil(6, 2), {
      code: "ERR_STATE",
      message: /batch\.staleness: expected 1, got 2/,
    });
    const resumed = await runUntil(6, 1);
    assert.deepEqual(
      resumed.map(({ step }) => step),
      [4, 5, 6],
    );
    assert.equal(resumed[0]!["staleness/max"], 0);
    const logged = asked.splice(0);
    await withFolder(async (other) => {
      await withBandit(async (bandit) => {
        const options = { ...optionsOf(bandit, { questions: 2, staleness: 1 }), steps: 6 };
        const { trajectories } = await runOf({ ...options, run: { folder: other } });
        const whole = trajectories.map((step) => [...new Set(step.map(({ questionId }) => questionId))]);
        assert.deepEqual(logged, whole);
      });
    });
  });
});

test("staleness is refused where nothing could correct it", async () => {
  await withBandit(async (bandit) => {
    const options = optionsOf(bandit, { staleness: 1 });
    await assert.rejects(rl({ ...options, algorithm: { ...algorithm, lossOn: "all" } }), /batch\.staleness/);
    await assert.rejects(rl({ ...options, batch: { ...options.batch, staleness: -1 } }), /staleness/);
  });
});
