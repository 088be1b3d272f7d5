/** What a run of reinforcement learning is given: who learns, what is asked, how much at a step, for how long. */
import {
  countKind,
  numberIn,
  type OptionCheck,
  type OptionKinds,
  optionsOf,
  wholeKind,
} from "../base/check-options.ts";
import { digestOf } from "../base/files/digests.ts";
import type { Question } from "../data/question.ts";
import type { Policy } from "../model/policy.ts";
import type { TaskRewards } from "../reward/score-trajectory.ts";
import { type Sampling, samplingKinds } from "../rollout/seams.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { type Algorithm, algorithmKind } from "./algorithm/algorithm.ts";
import type { Schedule } from "./algorithm/schedule.ts";
import { type CollapseOptions, collapseKind } from "./collapse.ts";
import type { Critic } from "./learner/critic.ts";
import type { Trainer } from "./learner/trainer.ts";
import { type RankRoles, rolesKind } from "./roles/rank-roles.ts";
import { type RunOptions, runKind } from "./run/run-options.ts";
import type { Settings } from "./run/settings.ts";

/** What learns, and what it must stay close to. */
export interface Learners {
  readonly trainer: Trainer;
  /** For algorithms with `advantage: "gae"`. */
  readonly critic?: Critic | undefined;
  /**
   * For algorithms with `kl`: usually the model as it was at the start (`model.clone()`), or the model itself where an
   * adapter is trained.
   */
  readonly reference?: Policy | undefined;
}

/**
 * Answers one question `samples` times on the current weights; an agent's `rollouts` is one. The outcome may
 * depend on nothing but the arguments and the weights, or a resumed run differs.
 */
export type SampleRollouts = (
  question: Question,
  options: {
    readonly samples: number;
    readonly seed: number;
    readonly signal?: AbortSignal;
    /** How tokens are drawn, in place of the agent's own way: ReMax also decodes greedily. */
    readonly sampling?: Sampling;
  },
) => Promise<readonly Trajectory[]>;

/** What is asked and what counts. */
export interface Task extends TaskRewards {
  readonly questions: readonly Question[];
  readonly rollout: SampleRollouts;
}

/** The size of a step. */
export interface RlBatch {
  readonly questions: number;
  /** Rollouts of each question, or their number by the step from 0; groups need at least 2. @default 1 */
  readonly samples?: number | ((step: number) => number);
  /** How rollouts are drawn, whatever the agent's own way; the loss takes their temperature. @default temperature 1 */
  readonly sampling?: Sampling | undefined;
  /** Tokens of one micro-batch. @default 4096 */
  readonly maxTokens?: number;
  /**
   * Whose log-probabilities the ratios start from. `rollout` saves a forward pass; where engine and trainer do not agree
   * bit for bit (elsewhere than f32 on the CPU), a resumed run then depends on how the engine batched.
   *
   * @default "trainer"
   */
  readonly oldLogprobs?: "trainer" | "rollout";
  /**
   * Steps before its own that a step's rollouts may begin: those of so many next steps are under way while a step is computed, and go
   * on under the new weights after it. Tokens of older weights are corrected (`algorithm.correction`, `tis` unless given), or with
   * `oldLogprobs: "rollout"` the ratios start from what sampled them. Not with learners that part their weights (`zero: 3`), unless
   * other ranks generate.
   *
   * @default 0: each step's rollouts are drawn from its own weights
   */
  readonly staleness?: number;
}

/** Numbers by their standard names, such as `reward/mean`, `policy/kl`, `logprob_gap/max`. */
export type RlMetrics = Readonly<Record<string, number>> & { readonly step: number };

/** A run of reinforcement learning. */
export interface RlOptions {
  readonly learners: Learners;
  readonly task: Task;
  readonly algorithm: Algorithm;
  readonly batch: RlBatch;
  readonly steps: number;
  /** `critic` defaults to the policy's. */
  readonly learningRate: { readonly policy: Schedule; readonly critic?: Schedule };
  /** Of the order of questions and of every rollout. @default 0 */
  readonly seed?: number;
  /** Who generates for this rank and the others that train; they evaluate too. @default every rank does both */
  readonly roles?: RankRoles | undefined;
  /** @default nothing is written */
  readonly run?: RunOptions | undefined;
  /** Adds its numbers to the metrics after every `every` steps and after the last. */
  readonly evaluation?: {
    readonly every: number;
    /** Also before the first step, as metrics of step 0. @default false */
    readonly isFirst?: boolean;
    readonly evaluate: (step: number) => Promise<Readonly<Record<string, number>>>;
  };
  /** Ends the run after the step of these metrics; a resumed run stays ended. @default after `steps` */
  readonly endWhen?: (metrics: RlMetrics) => boolean;
  /** What is watched, and what is done when the policy collapses. @default stop with an error, windows of 10 steps */
  readonly collapse?: CollapseOptions;
  /** Of several ranks, only the first has texts, queries and answers of trajectories that others made. @default nothing is done */
  readonly onStep?: (metrics: RlMetrics, trajectories: readonly Trajectory[]) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

const samplesKind: OptionCheck = (name, value) => {
  if (typeof value !== "function") countKind(name, value);
};

/** The loss divides the logits by the temperature. */
const learntSamplingKind = optionsOf<Sampling>({ ...samplingKinds, temperature: numberIn({ above: 0 }) });

/** What `rl` takes. */
export const rlKinds: OptionKinds<RlOptions> = {
  learners: optionsOf<Learners>({ trainer: "object", critic: "object", reference: "object" }, ["trainer"]),
  task: optionsOf<Task>(
    {
      questions: "list",
      rollout: "function",
      reward: "function",
      groupReward: "function",
      tokenRewards: "function",
      rewardDeadlineMs: "number",
      onRewardFailure: "function",
    },
    ["questions", "rollout", "reward"],
  ),
  algorithm: algorithmKind,
  batch: optionsOf<RlBatch>(
    {
      questions: countKind,
      samples: samplesKind,
      sampling: learntSamplingKind,
      maxTokens: countKind,
      oldLogprobs: ["trainer", "rollout"],
      staleness: wholeKind,
    },
    ["questions"],
  ),
  steps: wholeKind,
  learningRate: optionsOf<RlOptions["learningRate"]>({ policy: "function", critic: "function" }, ["policy"]),
  seed: wholeKind,
  roles: rolesKind,
  run: runKind,
  evaluation: optionsOf<NonNullable<RlOptions["evaluation"]>>(
    { every: countKind, isFirst: "boolean", evaluate: "function" },
    ["every", "evaluate"],
  ),
  endWhen: "function",
  collapse: collapseKind,
  onStep: "function",
  signal: "signal",
};

/** What decides the outcome, as far as it is data: functions are compared by what they are made of, in `run.settings`. */
export function rlSettings({
  task: { questions },
  algorithm,
  batch,
  ...others
}: Pick<RlOptions, "task" | "algorithm" | "batch" | "seed" | "steps">): Settings {
  const { maxTokens: _, ...sizes } = batch;
  const { seed = 0, steps } = others;
  return { questions: digestOf(JSON.stringify(questions)), algorithm, batch: sizes, seed, steps };
}

/** What it cannot do without. */
export const rlRequired = ["learners", "task", "algorithm", "batch", "steps", "learningRate"] as const;
