/** Published recipes on the built-in world: where their sizes differ from their own, and what the model starts from. */

import type { Recipe, Training } from "../../../lib/recipes/recipe.ts";
import type { Limits } from "../../../lib/rollout/limits.ts";
import type { Algorithm } from "../../../lib/train/algorithm/algorithm.ts";
import { type Habits, kHabits, sameHabits } from "../teachers/teacher.ts";
import { withWorldPrompt } from "./world.ts";
import type { TeachingFamily } from "./world-speech.ts";

/** What of a recipe is another for a world and a model this small; the rest stays the recipe's own. */
export interface WorldSizes {
  readonly limits?: Partial<Limits>;
  readonly algorithm?: Partial<Algorithm>;
  readonly training?: Partial<Training>;
}

// The world's model reads 1,024 tokens; no turn and no two documents of the world are longer than these.
const limits = { maxResponseTokens: 96, maxObservationTokens: 160, maxTokens: 1024, topK: 2 };
// From a model of a million parameters much is learnt in each of few steps; the rate must fall once most is right.
const quick = { warmupSteps: 5, decay: "linear", weightDecay: 0 } as const;
const ppo: WorldSizes = {
  limits,
  training: {
    ...quick,
    ...{ steps: 15, batchQuestions: 128, learningRate: 4e-4 },
    ...{ criticLearningRate: 1e-3, criticWarmupSteps: 0 },
  },
};
const grpo: WorldSizes = {
  limits,
  training: { ...quick, steps: 20, batchQuestions: 24, learningRate: 4e-4 },
};

/** The sizes by recipe and, where they differ, by its algorithm or stage. */
export const worldSizes = {
  world: {},
  "rag-r1": ppo,
  "search-r1": ppo,
  "search-r1 grpo": grpo,
  research: { ...grpo, training: { ...grpo.training, steps: 30 } },
  "agentic-rag-r1": {
    // A window too small for the questions of three and four searches, unless what was read is summed up.
    limits: { ...limits, maxTokens: 224 },
    // By the mean over trajectories a right guess in few words teaches several times as much a word as a right answer that
    // was looked up, and the policy unlearns to search.
    algorithm: { epochs: 1, aggregation: "token-mean" },
    // An adapter is trained where the demo is asked for one.
    training: { ...quick, steps: 60, batchQuestions: 32, learningRate: 4e-4, lora: undefined },
  },
  "r1-searcher 1": { limits, training: { ...quick, steps: 30, decay: "constant", learningRate: 1.5e-4 } },
  "r1-searcher 2": {
    limits,
    algorithm: { miniBatches: 2 },
    training: { ...quick, steps: 20, batchQuestions: 16, learningRate: 3e-4 },
  },
} as const satisfies Record<string, WorldSizes>;

/**
 * A recipe under the world's prompt and with the world's sizes.
 *
 * @param recipe - a published recipe
 * @param sizes - a row of `worldSizes`
 * @returns the recipe; tags, observations, reward, advantage, loss and everything the sizes do not name are its own
 * @example
 * const { training } = fitToWorld(reSearch(), worldSizes.research);
 * assert.deepEqual([training.batchQuestions, training.samples], [24, 5]);
 */
export function fitToWorld(recipe: Recipe, sizes: WorldSizes): Recipe {
  return {
    ...withWorldPrompt(recipe),
    limits: { ...recipe.limits, ...sizes.limits },
    algorithm: { ...recipe.algorithm, ...sizes.algorithm },
    training: { ...recipe.training, ...sizes.training },
  };
}

/** One number or setting that is not the recipe's own. */
export interface Difference {
  readonly name: string;
  readonly own: unknown;
  readonly used: unknown;
}

/**
 * What a fitted recipe changed.
 *
 * @param own - the recipe as published
 * @param used - the recipe as it is trained
 * @returns each limit, setting of the algorithm, and size that differs
 * @example
 * const own = searchR1();
 * const [first] = differencesOf(own, fitToWorld(own, worldSizes["search-r1"]));
 * assert.deepEqual(first, { name: "maxResponseTokens", own: 500, used: 96 });
 */
export function differencesOf(own: Recipe, used: Recipe): Difference[] {
  const [before, after] = [settingsOf(own), settingsOf(used)];
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((name) => ({ name, own: before.get(name), used: after.get(name) }))
    .filter((each) => JSON.stringify(each.own) !== JSON.stringify(each.used));
}

function settingsOf({ limits, algorithm, training }: Recipe): Map<string, unknown> {
  return new Map<string, unknown>(Object.entries({ ...limits, ...algorithm, ...training }));
}

/** What a model learns of a recipe's form before it is rewarded: demonstrations in the recipe's tags. */
export interface FormatLearning {
  readonly family: TeachingFamily;
  /** Of 24 demonstrations each; 0 where the shipped model speaks these tags. */
  readonly steps: number;
  /** The highest rate. @default 1e-3 */
  readonly peak?: number;
  /**
   * The share of the steps whose teacher looks everything up: reading in other tags is learnt first, habits last, and in
   * few steps, for what is said from memory cannot be known, and learning to say it unlearns reading. @default 0.5
   */
  readonly carefulShare?: number;
  /** What the teacher of the last steps looks up; the teacher of the first ones looks up everything. */
  readonly habits: Habits;
}

// A teacher who looks up little, and never what is asked last: R1-Searcher's first stage is about a model that hardly
// searches, its second about one that searches and makes little of it.
const kHardlySearches = sameHabits(1, { recallsAll: 0.75, recallsLast: 0.25 });
// A teacher who looks most things up: Agentic-RAG-R1 is about what to do with what was found.
const kMostlySearches = sameHabits(1, { recallsAll: 0.1, recallsLast: 0.1 });

/** What each recipe's model starts from. */
export const formatLearning = {
  world: { family: "rag", steps: 0, habits: kHabits },
  "rag-r1": { family: "rag", steps: 0, habits: kHabits },
  "search-r1": { family: "rag", steps: 100, carefulShare: 0.7, habits: kHabits },
  research: { family: "research", steps: 200, carefulShare: 0.7, habits: kHabits },
  "agentic-rag-r1": { family: "memory", steps: 150, peak: 2e-3, habits: kMostlySearches },
  "r1-searcher": { family: "r1-searcher", steps: 150, carefulShare: 0.4, habits: kHardlySearches },
} as const satisfies Record<string, FormatLearning>;
