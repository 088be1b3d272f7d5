/** Options that change how a recipe trains: its algorithm, its sizes, its rates. */
import { z } from "zod";
import type { Recipe, Training } from "../../../lib/recipes/recipe.ts";
import { type Algorithm, algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { UsageError } from "../command.ts";
import { type AgentOptions, recipeOf } from "./agent-options.ts";
import type { RecipeParts } from "./recipe-options.ts";

const algorithmNames = Object.keys(algorithms) as (keyof typeof algorithms)[];

/** What replaces the recipe's own. */
export const trainingOptions = {
  algorithm: z.enum(algorithmNames).optional().describe("instead of the recipe's"),
  lossOn: z
    .enum(["policy", "all"])
    .default("policy")
    .describe("all trains on what was retrieved too: for the ablation of the mask only"),
  dynamicSampling: z
    .int()
    .min(0)
    .optional()
    .describe("times a step asks others in place of questions whose rollouts all earn the same (dapo: 3)"),
  klTarget: z
    .number()
    .gt(0)
    .optional()
    .describe("KL per token that an adaptive weight of the KL in the reward aims at; fixed unless given"),
  klHorizon: z
    .number()
    .gt(0)
    .default(10_000)
    .describe("with --kl-target: trajectories over which the weight may move by 20 %"),
  temperature: z.number().gt(0).optional().describe("of the rollouts, instead of the recipe's"),
  steps: z.int().min(1).optional().describe("instead of the recipe's"),
  batchQuestions: z.int().min(1).optional().describe("questions of one step"),
  samples: z.int().min(1).optional().describe("rollouts of each question"),
  samplesAtEnd: z
    .int()
    .min(1)
    .optional()
    .describe("rollouts of each question at the last step; their number moves there in a line"),
  learningRate: z.number().gt(0).optional().describe("the policy's"),
  warmupSteps: z.int().min(0).optional().describe("steps of linear warm-up"),
  decay: z.enum(["constant", "linear"]).optional().describe("what follows the policy's warm-up"),
  criticLearningRate: z.number().gt(0).optional().describe("the critic's"),
  criticWarmupSteps: z.int().min(0).optional().describe("the critic's"),
  weightDecay: z.number().min(0).optional().describe("AdamW's"),
  beta2: z.number().min(0).lt(1).optional().describe("AdamW's (0.999 unless the recipe has another)"),
  maxGradNorm: z.number().min(0).optional().describe("bound on the gradient norm; 0 is none (1)"),
};

const schema = z.object(trainingOptions);

/** Those that stand in a recipe's training under the same name. */
const trainingKeys = [
  ...(["steps", "batchQuestions", "samples", "learningRate", "warmupSteps", "decay"] as const),
  ...(["criticLearningRate", "criticWarmupSteps", "weightDecay", "beta2", "maxGradNorm"] as const),
] satisfies (keyof Training)[];

/** What the options say. */
export type TrainingOptions = z.output<typeof schema>;

/**
 * The recipe with the algorithm, sizes and rates that were given.
 *
 * @throws UsageError when the recipe's algorithm has no part for one of them
 */
export function trainedRecipe(
  given: TrainingOptions & AgentOptions,
  parts: Pick<RecipeParts, "tools" | "judge"> = {},
): Recipe {
  const recipe = recipeOf(given, { ...parts, algorithm: given.algorithm });
  // Search-R1 has settings of its own for both of its algorithms.
  const isOwn = given.recipe === "search-r1" && (given.algorithm === "ppo" || given.algorithm === "grpo");
  const named: Algorithm =
    given.algorithm === undefined || isOwn ? recipe.algorithm : algorithms[given.algorithm];
  const changes = trainingKeys.filter((key) => given[key] !== undefined);
  const training = Object.fromEntries(changes.map((key) => [key, given[key]]));
  return {
    ...recipe,
    algorithm: adjusted(named, given),
    training: { ...recipe.training, ...training },
    sampling: { ...recipe.sampling, temperature: given.temperature ?? recipe.sampling.temperature },
  };
}

function adjusted(algorithm: Algorithm, given: TrainingOptions): Algorithm {
  const { lossOn, dynamicSampling, klTarget: target, klHorizon: horizon } = given;
  const { kl } = algorithm;
  if (target !== undefined && kl?.in !== "reward") {
    throw new UsageError("--kl-target: expected an algorithm with the KL in the reward, as ppo and remax");
  }
  return {
    ...algorithm,
    ...(lossOn === "policy" ? {} : { lossOn }),
    dynamicSampling: dynamicSampling ?? algorithm.dynamicSampling,
    ...(kl && target !== undefined ? { kl: { ...kl, adaptive: { target, horizon } } } : {}),
  };
}
