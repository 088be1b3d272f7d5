/** What a recipe is: plain options that fit together. */
import { defined } from "../base/defined.ts";
import type { LoraOptions } from "../model/form/lora-options.ts";
import type { GroupReward } from "../reward/group.ts";
import type { Reward, TokenReward } from "../reward/reward.ts";
import type { Format } from "../rollout/formats/format.ts";
import type { Limits } from "../rollout/limits.ts";
import type { Sampling, TextCodec } from "../rollout/seams.ts";
import type { ToolBox } from "../rollout/tools/tool-box.ts";
import type { Search } from "../search/search.ts";
import type { Algorithm } from "../train/algorithm/algorithm.ts";
import type { AdamWOptions } from "../train/learner/learner-options.ts";

/** A recipe: format, limits, reward, algorithm and training of an agent. */
export interface Recipe {
  readonly format: Format;
  /** Runs the calls of a turn, for recipes with tools. @default one search for all queries */
  readonly tools?: ToolBox;
  readonly limits: Limits;
  /** Where queries go that say more than what to look for, such as the name of a tool. @default to the search as they are */
  readonly searchThrough?: (search: Search) => Search;
  /** How tokens are drawn while training; evaluation is greedy. */
  readonly sampling: Sampling;
  readonly reward: Reward;
  /** Rewards of single tokens besides; some need to know what a token says. @default nothing */
  readonly tokenRewards?: (tokenizer: TextCodec) => TokenReward;
  /** What the rollouts of one question add to each other's rewards. @default nothing */
  readonly groupReward?: GroupReward;
  readonly algorithm: Algorithm;
  readonly training: Training;
}

/** Sizes and rates of training; rates rise in a linear warm-up. */
export interface Training {
  readonly steps: number;
  /** Questions of one step. */
  readonly batchQuestions: number;
  /** Rollouts of each question. */
  readonly samples: number;
  readonly learningRate: number;
  readonly warmupSteps: number;
  /** After the warm-up the policy's rate stays, or falls to 0 at the last step. */
  readonly decay: "constant" | "linear";
  readonly criticLearningRate: number;
  readonly criticWarmupSteps: number;
  /** AdamW's, of policy and critic. */
  readonly weightDecay: number;
  /** AdamW's. @default 0.9 */
  readonly beta1?: number;
  /** AdamW's. @default 0.999 */
  readonly beta2?: number;
  /** Bound on the gradient norm; 0 is none. @default 1 */
  readonly maxGradNorm?: number;
  /** An adapter that is trained in place of the weights. @default none */
  readonly lora?: LoraOptions | undefined;
  /** How AdamW keeps its moments. @default "float32" */
  readonly moments?: "float32" | "8-bit";
  /** Whether bfloat16 weights keep the bits below them. @default true */
  readonly masterWeights?: boolean;
  /** A folder whose files hold AdamW's states, mapped into memory. @default in memory */
  readonly stateFolder?: string | undefined;
}

/**
 * A recipe's training with other sizes and rates. A warm-up that is not given keeps its share of the run, as the originals
 * state theirs: 286 of 1,005 steps become 2 of 6, so that a short run learns at all.
 *
 * @param training - the recipe's
 * @param changes - what is given; undefined members are not
 * @returns the training
 * @example
 * const { training } = searchR1();
 * const { warmupSteps } = resizedTraining(training, { steps: 6 });
 * assert.equal(warmupSteps, Math.round((6 * training.warmupSteps) / training.steps));
 */
export function resizedTraining(training: Training, changes: Partial<Training>): Training {
  const given = defined(changes);
  const { steps = training.steps } = given;
  const scaled = (warmupSteps: number): number => Math.round((warmupSteps * steps) / training.steps);
  return {
    ...training,
    warmupSteps: scaled(training.warmupSteps),
    criticWarmupSteps: scaled(training.criticWarmupSteps),
    ...given,
  };
}

/**
 * What a recipe's training says of AdamW.
 *
 * @param training - the recipe's
 * @returns options for `openLearners`
 * @example
 * const { algorithm, training } = ragR1({ queries: "multi" });
 * await using opened = await openLearners(model, algorithm, optimiserOf(training));
 * assert.equal(optimiserOf(training).weightDecay, 0.01);
 */
export function optimiserOf(training: Training): AdamWOptions {
  const { weightDecay, beta1, beta2, maxGradNorm, moments, masterWeights, stateFolder } = training;
  return { weightDecay, beta1, beta2, maxGradNorm, moments, masterWeights, stateFolder };
}

/**
 * What a trajectory earns in all: the reward and those of its tokens.
 *
 * @param recipe - reward and token rewards
 * @param tokenizer - for token rewards that look at what a token says
 * @returns a reward, for evaluation
 */
export function recipeTotalReward(
  { reward, tokenRewards, algorithm }: Pick<Recipe, "reward" | "tokenRewards" | "algorithm">,
  tokenizer: TextCodec,
): Reward {
  // A ratio divides by a reward that holds those of the tokens already.
  if (tokenRewards === undefined || algorithm.tokenRewards === "ratio") return reward;
  const byToken = tokenRewards(tokenizer);
  return async (...args) => {
    const [whole, tokens] = [await reward(...args), await byToken(...args)];
    return Array.from(tokens).reduce((sum, each) => sum + each, whole);
  };
}
