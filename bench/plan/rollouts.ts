/** Reinforcement learning with turns of a fixed length and a search that takes a fixed time. */
import { setTimeout } from "node:timers/promises";
import type { ProcessGroup } from "../../lib/comm/process-group.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import type { Segment, Trajectory } from "../../lib/rollout/trajectory.ts";
import { algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { schedule } from "../../lib/train/algorithm/schedule.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { rl as train } from "../../lib/train/rl.ts";
import type { RlOptions } from "../../lib/train/rl-options.ts";
import { best, ids, type rl, shape } from "./sizes.ts";

async function play(engine: Engine, question: number, seed: number, work: typeof rl): Promise<Trajectory> {
  const prompt = ids(work.prompt, question);
  const sequence = engine.open(prompt, { seed });
  const segments: Segment[] = [{ kind: "prompt", tokens: prompt, text: "" }];
  for (const turn of [0, 1]) {
    if (turn > 0) {
      await setTimeout(work.searchMs);
      const observation = ids(work.observation, seed);
      sequence.append(observation);
      segments.push({ kind: "observation", tokens: observation, text: "" });
    }
    const { ids: tokens, logprobs } = await sequence.generate({ maxTokens: work.turn, stopIds: [] });
    segments.push({ kind: "policy", tokens, logprobs, text: "" });
  }
  sequence.close();
  return {
    ...{
      id: `${question}#${seed}`,
      questionId: `${question}`,
      segments,
      turns: 2,
      stop: "length",
      rounds: 1,
    },
    ...{ queries: [], invalidActions: 0, failures: 0, weightsVersion: 0 },
    timings: { generateMs: 0, searchMs: 0, totalMs: 0 },
  };
}

/** Questions whose groups have both rewards: no advantage is zero. */
function taskOf(engine: Engine, work: typeof rl): RlOptions["task"] {
  const questions = Array.from({ length: work.questions }, (_, i) => ({
    ...{ id: `${i}`, question: "", answers: ["x"] },
  }));
  return {
    questions,
    rollout: ({ id }, { samples, seed }) =>
      Promise.all(Array.from({ length: samples }, (_, i) => play(engine, Number(id), seed + i, work))),
    reward: ({ id }) => Number(id.split("#")[1]) % 2,
  };
}

/** The best times of a step and its parts. */
export async function trainingSteps(
  work: typeof rl,
  options: {
    readonly group: ProcessGroup | undefined;
    readonly repeats: number;
    readonly zero: 0 | 1 | 2 | 3;
  },
): Promise<object> {
  await using model = await Model.create(shape, { dtype: "float32" });
  await using engine = await Engine.open(model, { cacheBytes: 2 ** 28, promptLookup: false });
  const { group, repeats, zero } = options;
  const ofAll = { activationBytes: 2 ** 33, processGroup: group, zero: group === undefined ? 0 : zero };
  await using trainer = await Trainer.open(model, ofAll);
  const steps: { rollout: number; train: number }[] = [];
  const whole: number[] = [];
  let before = performance.now();
  await train({
    learners: { trainer },
    task: taskOf(engine, work),
    algorithm: { ...algorithms.grpo, kl: undefined },
    batch: { questions: work.questions, samples: work.samples, oldLogprobs: "rollout" },
    steps: repeats + 1,
    learningRate: { policy: schedule({ peak: 1e-6 }) },
    collapse: { action: "ignore" },
    onStep: (metrics) => {
      steps.push({ rollout: metrics["seconds/rollout"]!, train: metrics["seconds/train"]! });
      whole.push((performance.now() - before) / 1000);
      before = performance.now();
    },
  });
  return {
    seconds: best(whole.slice(1)),
    rollout: best(steps.slice(1).map(({ rollout }) => rollout)),
    train: best(steps.slice(1).map((each) => each.train)),
  };
}
