/** What a loop decides besides its loss: greedy baselines, the weight of the KL, which questions to ask, how often. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Question } from "../../../lib/data/question.ts";
import { groupAdvantages, rewardsToGo } from "../../../lib/train/algorithm/advantage.ts";
import { type Algorithm, algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { nextKlCoef } from "../../../lib/train/algorithm/kl-target.ts";
import { sampleDynamically } from "../../../lib/train/dynamic-sampling.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { probeStep } from "../../../lib/train/probe.ts";
import { rl } from "../../../lib/train/rl.ts";
import type { RlMetrics, RlOptions, SampleRollouts } from "../../../lib/train/rl-options.ts";
import { readJson } from "../learner/golden.ts";
import { withFolder } from "../run/kill.ts";
import { runBandit } from "../run/rl-run.ts";
import { tinyModel } from "../tiny.ts";

interface Golden {
  readonly remax: readonly { rewards: number[]; baseline: number; advantages: number[] }[];
  readonly control: readonly {
    readonly target: number;
    readonly horizon: number;
    readonly trajectories: number;
    readonly first: number;
    readonly steps: readonly { kl: number; coef: number }[];
  }[];
}

const golden = readJson<Golden>("controls.json");
const near = (actual: number, expected: number): void => assert.ok(Math.abs(actual - expected) < 1e-12);

test("ReMax's advantages are what is still earned less the greedy reward, in float64", () => {
  for (const { rewards, baseline, advantages } of golden.remax) {
    const ours = rewardsToGo(rewards, { baseline });
    assert.equal(ours.length, advantages.length);
    for (const [i, value] of advantages.entries()) near(ours[i]!, value);
  }
});

test("the adaptive weight of the KL equals its formula in float64, step after step", () => {
  for (const { first, steps, trajectories, ...aim } of golden.control) {
    let coef = first;
    for (const step of steps) {
      coef = nextKlCoef(coef, { kl: step.kl, trajectories }, aim);
      near(coef, step.coef);
    }
  }
});

test("a group whose rollouts all earned the same has no advantage, by any baseline", () => {
  for (const baseline of ["grpo", "dr-grpo", "rloo", "reinforce++-baseline"] as const) {
    const advantages = groupAdvantages([1, 1, 1, 0.3, 0.3], ["a", "a", "a", "b", "b"], baseline);
    for (const advantage of advantages) near(advantage, 0);
  }
});

test("questions without a difference are replaced, by others and in a fixed order, until none is missing", async () => {
  const asked: number[][] = [];
  // Even questions are always answered alike.
  const sample = async (items: readonly number[], first: number) => {
    asked.push([...items]);
    return items.map((item, i) => [{ reward: item % 2, group: first + i }, { reward: 0 }]);
  };
  const options = { rounds: 5, count: 20, seed: 3, step: 7 };
  const { all, kept } = await sampleDynamically([0, 2, 3, 4], sample, options);
  assert.equal(kept.length, 4);
  assert.ok(kept.every((group) => group[0]?.reward === 1));
  assert.equal(new Set(asked.flat()).size, asked.flat().length, "no question is asked twice");
  assert.deepEqual(
    all.map(([member]) => (member as { group: number }).group),
    all.map((_, i) => i),
  );
  const before = structuredClone(asked);
  asked.length = 0;
  await sampleDynamically([0, 2, 3, 4], sample, options);
  assert.deepEqual(asked, before);
  const none = await sampleDynamically([0, 2], sample, { rounds: 1, count: 1, seed: 0, step: 0 });
  assert.deepEqual([none.all.length, none.kept.length], [2, 2], "where nothing differs, all is kept");
  const off = await sampleDynamically([0, 3], sample, { ...options, rounds: 0 });
  assert.equal(off.kept.length, 2);
});

for (const [name, algorithm] of Object.entries({
  remax: { advantage: "remax" },
  dapo: algorithms.dapo,
} satisfies Record<string, Algorithm>)) {
  test(`${name} learns to emit the rewarded token`, async () => {
    const seen: RlMetrics[] = [];
    await runBandit({ algorithm, steps: 30, onStep: (metrics) => seen.push(metrics) });
    assert.ok(seen[0]!["reward/mean"]! < 0.2);
    assert.ok(seen.at(-1)!["reward/mean"]! > 0.6, `ended at ${seen.at(-1)!["reward/mean"]}`);
  });
}

test("a run with an adaptive KL goes on with the weight it had come to, and ends with the same numbers", async () => {
  const adaptive = { target: 0.01, horizon: 100 };
  const algorithm = { ...algorithms.ppo, kl: { ...algorithms.ppo.kl, adaptive } };
  await withFolder(async (folder) => {
    const [whole, parts] = [join(folder, "whole"), join(folder, "parts")];
    await runBandit({ algorithm, steps: 6, folder: whole });
    await runBandit({ algorithm, steps: 3, folder: parts });
    await runBandit({ algorithm, steps: 6, folder: parts });
    const coefs = await Promise.all([whole, parts].map(async (run) => (await metricsOf(run)).map(coefOf)));
    assert.deepEqual(coefs[0], coefs[1]);
    assert.equal(coefs[0]![0], 0.001);
    assert.ok(new Set(coefs[0]).size > 3, "it moves");
  });
});

const coefOf = (row: Record<string, number>): number | undefined => row["policy/kl_coef"];

async function metricsOf(folder: string): Promise<Record<string, number>[]> {
  const text = await readFile(join(folder, "metrics.jsonl"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, number>);
}

/** A step whose rollouts are fixed; a question's text is the reward of its samples, one digit each. */
async function fixedRun(questions: readonly Question[], algorithm: Algorithm): Promise<RlOptions> {
  const segments = [
    { kind: "prompt", tokens: Int32Array.of(1, 2), text: "" },
    { kind: "policy", tokens: Int32Array.of(3, 4), text: "" },
  ] as const;
  const empty = { queries: [], invalidActions: 0, failures: 0, weightsVersion: 0, rounds: 0 };
  const timings = { generateMs: 0, searchMs: 0, totalMs: 0 };
  const rollout: SampleRollouts = async ({ id }, { samples, sampling }) =>
    Array.from({ length: samples }, (_, turns) => ({
      ...{ id: `${id}#${turns}`, questionId: id, segments, timings, ...empty, stop: "answer" as const },
      turns: sampling?.temperature === 0 ? 9 : turns,
    }));
  return {
    learners: { trainer: await Trainer.open(await tinyModel()) },
    task: { questions, rollout, reward: ({ turns }, { question }) => Number(question[turns] ?? 5) },
    algorithm,
    batch: { questions: questions.length, samples: 2 },
    steps: 1,
    learningRate: { policy: () => 1e-3 },
  };
}

const asked = (text: string, source: string): Question => {
  return { id: text, question: text, answers: ["x"], source };
};

test("ReMax answers each question greedily beside its samples, and one sample is enough", async () => {
  const options = await fixedRun([asked("1", "nq"), asked("3", "nq")], { advantage: "remax" });
  const metrics = await rl({ ...options, batch: { questions: 2 } });
  assert.deepEqual([metrics?.["reward/mean"], metrics?.["reward/greedy"]], [2, 5]);
});

test("equal groups are counted, and rewards are told for each data set", async () => {
  const options = await fixedRun([asked("11", "nq"), asked("02", "nq"), asked("30", "musique")], {
    advantage: "rloo",
  });
  const metrics = await rl(options);
  assert.deepEqual([metrics?.["groups/asked"], metrics?.["groups/equal"]], [3, 1 / 3]);
  assert.deepEqual([metrics?.["reward/mean/nq"], metrics?.["reward/mean/musique"]], [1, 1.5]);
});

test("the number of rollouts may change from step to step, and too few are refused", async () => {
  const options = await fixedRun([asked("0123", "nq")], { advantage: "rloo" });
  const counts: number[] = [];
  const onStep = (_: RlMetrics, trajectories: readonly unknown[]) => void counts.push(trajectories.length);
  const samples = (step: number): number => 4 - step;
  await rl({ ...options, batch: { questions: 1, samples }, steps: 3, onStep });
  assert.deepEqual(counts, [4, 3, 2]);
  await assert.rejects(rl({ ...options, batch: { questions: 1, samples }, steps: 4 }), {
    message: /batch\.samples: rloo compares at least 2/,
  });
});

test("a model may be evaluated before its first step, which a resumed run does not do again", async () => {
  await withFolder(async (folder) => {
    const options = await fixedRun([asked("01", "nq")], { advantage: "rloo" });
    const evaluated: number[] = [];
    const evaluate = async (step: number) => {
      evaluated.push(step);
      return { "eval/em": 0 };
    };
    const run = { ...options, run: { folder }, evaluation: { every: 2, isFirst: true, evaluate } };
    await rl({ ...run, steps: 2 });
    await rl({ ...run, steps: 4 });
    assert.deepEqual(evaluated, [0, 2, 4]);
    const rows = await metricsOf(folder);
    assert.deepEqual(
      rows.map(({ step }) => step),
      [0, 1, 2, 3, 4],
    );
    const { "process/memory_gb": memory, ...first } = rows[0]!;
    assert.deepEqual(first, { step: 0, "eval/em": 0 });
    assert.ok(Number(memory) > 0);
  });
});

test("a run's event file has a record for each step, also when it was resumed", async () => {
  await withFolder(async (folder) => {
    const options = await fixedRun([asked("01", "nq")], { advantage: "rloo" });
    const run = { folder, tensorBoard: true };
    await rl({ ...options, run, steps: 2 });
    const path = join(folder, "tensorboard", "events.out.tfevents.0.seekrl");
    const before = await readFile(path);
    await rl({ ...options, run, steps: 3 });
    const after = await readFile(path);
    assert.ok(after.subarray(0, before.length).equals(before));
    assert.equal(after.toString("latin1").split("reward/mean").length - 1, 3);
  });
});

test("an adaptive KL in the loss, and dynamic sampling without groups, are refused", async () => {
  const kl = { ...algorithms.grpo.kl, adaptive: { target: 0.1, horizon: 10 } };
  const options = await fixedRun([asked("01", "nq")], { ...algorithms.grpo, kl });
  const learners = { ...options.learners, reference: options.learners.trainer.model };
  await assert.rejects(rl({ ...options, learners }), { message: /expected a KL in the reward/ });
  const single = await fixedRun([asked("01", "nq")], { advantage: "remax", dynamicSampling: 1 });
  await assert.rejects(rl({ ...single, batch: { questions: 1 } }), {
    message: /dynamic sampling compares at least 2/,
  });
});

test("a probe of a step asks its questions once, whatever dynamic sampling would ask besides", async () => {
  const questions = ["00", "11", "00", "11"].map((rewards) => asked(rewards, "nq"));
  const options = await fixedRun(questions, { ...algorithms.grpo, kl: undefined, dynamicSampling: 3 });
  const askedIds: string[] = [];
  const rollout: SampleRollouts = (question, how) => {
    askedIds.push(question.id);
    return options.task.rollout(question, how);
  };
  const task = { ...options.task, rollout };
  await probeStep({ ...options, task, batch: { questions: 1, samples: 2 } }, { most: 1 });
  assert.equal(askedIds.length, 1);
});
