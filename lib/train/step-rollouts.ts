/** The rollouts of a step: every question's at once, with their rewards, and which of them to learn from. */
import { shownValue } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { mixSeed } from "../base/random.ts";
import type { ProcessGroup } from "../comm/process-group.ts";
import type { Question } from "../data/question.ts";
import { scoreGroup, scoreTrajectory, totalReward } from "../reward/score-trajectory.ts";
import type { AskingRanks, Telling } from "../rollout/ranked-questions.ts";
import type { ResponseLengths } from "../rollout/response-lengths.ts";
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

/** A trajectory and its reward; trajectories of one group answer the same question. */
export interface Rewarded {
  readonly trajectory: Pick<Trajectory, "segments">;
  readonly reward: number;
  /**
   * What single tokens earn besides: one number for each policy token, in order. The reward itself falls on the
   * last of them.
   */
  readonly tokenRewards?: ArrayLike<number> | undefined;
  /** What the greedy trajectory of the same question earned, for ReMax. */
  readonly baseline?: number | undefined;
  readonly group: number;
}

/** A rewarded rollout and the question it answers. */
export interface RewardedRollout extends Rewarded {
  readonly question: Question;
  readonly trajectory: Trajectory;
}

/** A trajectory that may have no reward: then it is logged and counted, not trained on. */
export type SampledRollout = Omit<RewardedRollout, "reward"> & {
  readonly reward?: number | undefined;
  /** Why the reward gave none. */
  readonly failure?: string | undefined;
};

/** ReMax's baseline: what the greedy trajectory earns in all. */
async function greedyReward(
  question: Question,
  { task, algorithm }: StepTask,
  run: { readonly seed: number; readonly signal: AbortSignal },
): Promise<number | undefined> {
  if (algorithm.advantage !== "remax") return undefined;
  const how = { ...run, samples: 1, sampling: { temperature: 0 } };
  const [greedy] = await task.rollout(question, how);
  return greedy && totalReward(await scoreTrajectory(task, { trajectory: greedy, question }, run));
}

async function sampleGroup(
  group: number,
  question: Question,
  options: StepTask,
  run: { readonly seed: number; readonly samples: number; readonly signal: AbortSignal },
): Promise<SampledRollout[]> {
  const { task, algorithm, batch } = options;
  const [trajectories, baseline] = await Promise.all([
    task.rollout(question, { ...run, sampling: batch.sampling ?? { temperature: 1 } }),
    greedyReward(question, options, run),
  ]);
  const isWhole = Array.isArray(trajectories) && trajectories.length === run.samples;
  if (!isWhole && !run.signal.aborted) {
    const got = Array.isArray(trajectories) ? trajectories.length : shownValue(trajectories);
    throw new SeekError("ERR_ARGUMENT", `task.rollout: expected ${run.samples} trajectories, got ${got}`);
  }
  const scored = await scoreGroup(task, { trajectories, question }, run);
  const members = scored.filter(({ reward }) => reward !== undefined).length;
  const isLearnt = isComparable(algorithm, members, baseline);
  return trajectories.map((trajectory, i): SampledRollout => {
    const { failure, ...earned } = scored[i]!;
    const sampled = { question, trajectory, group };
    return isLearnt && failure === undefined ? { ...sampled, ...earned, baseline } : { ...sampled, failure };
  });
}

/** One that is left alone has nothing to be compared with. */
function isComparable({ advantage }: Algorithm, members: number, baseline: number | undefined): boolean {
  if (advantage === "remax") return baseline !== undefined;
  return members !== 1 || standsAlone(advantage);
}

/** The ranks that roll out together. */
interface RolloutRanks {
  readonly processGroup: ProcessGroup;
  /** Of the run among all that the group ever does. */
  readonly name: string;
  /** The numbers of those that do; the others learn what came of it. @default all */
  readonly askers?: readonly number[] | undefined;
  /** What questions are expected to cost. */
  readonly lengths: ResponseLengths;
  /** How what came of questions travels. */
  readonly telling: (questions: readonly Question[]) => Telling<SampledRollout[]>;
  /** The rollouts of the steps before, which the ranks tell each other first. */
  readonly after: Promise<unknown>;
}

/** What of a training decides a step's rollouts. */
export type StepTask = Pick<RlOptions, "task" | "algorithm" | "batch" | "seed" | "signal">;

/** A step's rollouts by question, and those among them to learn from. */
export type StepRollouts = Awaited<ReturnType<typeof stepRollouts>>;

/** A step's rollouts, and those among them to learn from; of several ranks, what all of them have rolled out. */
export function stepRollouts(step: number, options: StepTask, ranks?: RolloutRanks) {
  const { task, batch, algorithm, seed = 0 } = options;
  const count = task.questions.length;
  const items = itemsOfStep(step, { count, perStep: batch.questions, seed });
  const { dynamicSampling: rounds = 0 } = algorithm;
  // The last step that every rank has when this one begins, however far ahead each is.
  const sizeOf = ranks?.lengths.before(step - (batch.staleness ?? 0));
  const sample = async (asked: readonly number[], first: number) => {
    const sizes = sizeOf && asked.map((item) => sizeOf(task.questions[item]!));
    const groups = await sampleGroups(step, asked, first, options, ranks && { ...ranks, sizes });
    for (const group of groups) ranks?.lengths.add(step, group);
    return groups;
  };
  return sampleDynamically(items, sample, { rounds, count, seed, step });
}

/** All questions at once, so that the engine batches them; each on one of the ranks. */
async function sampleGroups(
  step: number,
  items: readonly number[],
  first: number,
  options: StepTask,
  ranks: (RolloutRanks & Pick<AskingRanks, "sizes">) | undefined,
): Promise<SampledRollout[][]> {
  const { task, batch, algorithm, seed = 0, signal } = options;
  const samples = typeof batch.samples === "function" ? batch.samples(step) : (batch.samples ?? 1);
  checkSamples(samples, algorithm);
  const asked = items.map((item) => task.questions[item]!);
  const ask = (question: Question, i: number, whileWanted: AbortSignal): Promise<SampledRollout[]> => {
    const group = first + i;
    const run = { seed: mixSeed(seed, `step ${step}`, group), samples, signal: whileWanted };
    return sampleGroup(group, question, options, run);
  };
  const { results } = await runQuestions(asked, {
    ...{ ask, concurrency: asked.length, patience: 0, signal },
    ranks: ranks && {
      ...ranks,
      telling: ranks.telling(asked),
      what: `${ranks.name}, step ${step + 1}, groups from ${first}`,
    },
  });
  return results.map((group, i) => {
    if (group === undefined)
      throw new SeekError("ERR_INTERNAL", `step ${step + 1}: nobody asked group ${first + i}`);
    return group;
  });
}

/** Those with a reward. @throws ERR_REMOTE when there is none */
export function scoredOf(sampled: readonly SampledRollout[], step: number): RewardedRollout[] {
  const rewarded = sampled.filter((each): each is RewardedRollout => each.reward !== undefined);
  if (rewarded.length > 0 || sampled.length === 0) return rewarded;
  const { failure } = sampled.find((each) => each.failure !== undefined) ?? {};
  const what = `step ${step}: expected rewards, got none for any of ${sampled.length} trajectories`;
  throw new SeekError("ERR_REMOTE", failure === undefined ? what : `${what}; the first: ${failure}`);
}
