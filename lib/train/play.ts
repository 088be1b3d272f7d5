/** The rollouts of a step: every question's at once, with their rewards, and which of them to learn from. */
import { SeekError } from "../base/errors.ts";
import { mixSeed } from "../base/seed.ts";
import type { Question } from "../data/question.ts";
import { scoreGroup, scoreTrajectory, totalReward } from "../reward/score-trajectory.ts";
import { runQuestions } from "../rollout/run-questions.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Algorithm } from "./algorithm/algorithm.ts";
import { itemsOfStep } from "./batch/order.ts";
import { sampleDynamically } from "./dynamic-sampling.ts";
import type { RlOptions } from "./rl-options.ts";

/**
 * @throws ERR_ARGUMENT when an algorithm compares more rollouts of a question than there are
 */
export function checkSamples(samples: number, { advantage, dynamicSampling = 0 }: Algorithm): void {
  const isSingle = advantage === "remax" || standsAlone(advantage);
  if ((isSingle && dynamicSampling === 0) || samples >= 2) return;
  const what = isSingle ? "dynamic sampling compares" : `${advantage} compares`;
  throw new SeekError("ERR_ARGUMENT", `batch.samples: ${what} at least 2 samples of a question`);
}

/** Whether a rollout is compared with no other one. */
function standsAlone(advantage: Algorithm["advantage"]): boolean {
  return advantage === "gae" || advantage === "reinforce" || advantage === "reinforce++";
}

/** A trajectory, what it answers and what it earned. */
export interface Played {
  readonly question: Question;
  readonly trajectory: Trajectory;
  readonly reward: number;
  readonly tokenRewards?: ArrayLike<number> | undefined;
  /** What the greedy trajectory of the same question earned, for ReMax. */
  readonly baseline?: number | undefined;
  readonly group: number;
}

/** A trajectory that may have no reward: then it is logged and counted, not trained on. */
export type Rolled = Omit<Played, "reward"> & {
  readonly reward?: number | undefined;
  /** Why the reward gave none. */
  readonly failure?: string | undefined;
};

/** ReMax's baseline: what the greedy trajectory earns in all. */
async function greedyReward(
  question: Question,
  { task, algorithm }: RlOptions,
  run: { readonly seed: number; readonly signal: AbortSignal },
): Promise<number | undefined> {
  if (algorithm.advantage !== "remax") return undefined;
  const how = { ...run, samples: 1, sampling: { temperature: 0 } };
  const [greedy] = await task.rollout(question, how);
  return greedy && totalReward(await scoreTrajectory(task, { trajectory: greedy, question }, run));
}

async function playGroup(
  group: number,
  question: Question,
  options: RlOptions,
  run: { readonly seed: number; readonly samples: number; readonly signal: AbortSignal },
): Promise<Rolled[]> {
  const { task, algorithm } = options;
  const [trajectories, baseline] = await Promise.all([
    task.rollout(question, run),
    greedyReward(question, options, run),
  ]);
  const scored = await scoreGroup(task, { trajectories, question }, run);
  const members = scored.filter(({ reward }) => reward !== undefined).length;
  const isLearnt = isComparable(algorithm, members, baseline);
  return trajectories.map((trajectory, i): Rolled => {
    const { failure, ...earned } = scored[i]!;
    const rolled = { question, trajectory, group };
    return isLearnt && failure === undefined ? { ...rolled, ...earned, baseline } : { ...rolled, failure };
  });
}

/** One that is left alone has nothing to be compared with. */
function isComparable({ advantage }: Algorithm, members: number, baseline: number | undefined): boolean {
  if (advantage === "remax") return baseline !== undefined;
  return members !== 1 || standsAlone(advantage);
}

/** A step's rollouts, and those among them to learn from. */
export function play(step: number, options: RlOptions) {
  const { task, batch, algorithm, seed = 0 } = options;
  const count = task.questions.length;
  const items = itemsOfStep(step, { count, perStep: batch.questions, seed });
  const { dynamicSampling: rounds = 0 } = algorithm;
  const playItems = (asked: readonly number[], first: number) => playGroups(step, asked, first, options);
  return sampleDynamically(items, playItems, { rounds, count, seed, step });
}

/** All questions at once, so that the engine batches them. */
async function playGroups(
  step: number,
  items: readonly number[],
  first: number,
  options: RlOptions,
): Promise<Rolled[][]> {
  const { task, batch, algorithm, seed = 0, signal } = options;
  const samples = typeof batch.samples === "function" ? batch.samples(step) : (batch.samples ?? 1);
  checkSamples(samples, algorithm);
  const asked = items.map((item) => task.questions[item]!);
  const { results } = await runQuestions(asked, {
    ask: (question, i, whileWanted) => {
      const group = first + i;
      const run = { seed: mixSeed(seed, `step ${step}`, group), samples, signal: whileWanted };
      return playGroup(group, question, options, run);
    },
    ...{ concurrency: asked.length, patience: 0, signal },
  });
  return results.filter((group) => group !== undefined);
}

/** Those with a reward. @throws ERR_REMOTE when there is none */
export function scoredOf(rolled: readonly Rolled[], step: number): Played[] {
  const played = rolled.filter((each): each is Played => each.reward !== undefined);
  if (played.length > 0 || rolled.length === 0) return played;
  const { failure } = rolled.find((each) => each.failure !== undefined) ?? {};
  const what = `step ${step}: expected rewards, got none for any of ${rolled.length} trajectories`;
  throw new SeekError("ERR_REMOTE", failure === undefined ? what : `${what}; the first: ${failure}`);
}
