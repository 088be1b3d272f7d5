/** Options that change how a recipe trains: its algorithm, its sizes, its rates. */
import { z } from "zod";
import { defined } from "../../../lib/base/defined.ts";
import { codeOf } from "../../../lib/base/errors.ts";
import type { RecipeParts } from "../../../lib/recipes/named-recipe.ts";
import { optimiserOf, type Recipe, resizedTraining } from "../../../lib/recipes/recipe.ts";
import type { Algorithm } from "../../../lib/train/algorithm/algorithm.ts";
import {
  type AlgorithmChoice,
  algorithmChoice,
  chosenAlgorithm,
} from "../../../lib/train/algorithm/choice.ts";
import { UsageError } from "../command.ts";
import { inGroup } from "../fields.ts";
import { type AgentOptions, recipeOf } from "./agent-options.ts";
import { loraChoiceOf, loraOf, loraOptions } from "./lora-options.ts";
import { adamWOptions } from "./run-options.ts";

const optimizer = z.strictObject({
  decay: z
    .enum(["constant", "linear"])
    .optional()
    .describe("What follows the warm-up of the policy's rate (the recipe's)."),
  ...adamWOptions,
  weightDecay: adamWOptions.weightDecay.describe("AdamW's, of policy and critic (the recipe's)."),
  beta2: adamWOptions.beta2.describe("AdamW's second moment (0.999, or the recipe's)."),
});

const critic = z.strictObject({
  learningRate: z.number().gt(0).optional().describe("The critic's (the recipe's)."),
  warmupSteps: z
    .int()
    .min(0)
    .optional()
    .describe("Steps of its linear warm-up (the recipe's share of the steps)."),
});

/** What replaces the recipe's own. */
export const trainingOptions = inGroup("Training; what is not given is the recipe's", {
  algorithm: algorithmChoice
    .optional()
    .meta({ head: "name", description: "How rewards change the policy: a name, settings, or both." }),
  steps: z.int().min(1).optional().describe("Steps in all."),
  batchQuestions: z.int().min(1).optional().describe("Questions of one step."),
  samples: z.int().min(1).optional().describe("Rollouts of each question."),
  samplesAtEnd: z
    .int()
    .min(1)
    .optional()
    .describe("Rollouts of each question at the last step; their number moves there in a line."),
  temperature: z.number().gt(0).optional().describe("Of the rollouts, and of the loss on them."),
  learningRate: z.number().gt(0).optional().describe("The policy's highest rate."),
  warmupSteps: z
    .int()
    .min(0)
    .optional()
    .describe("Steps of the policy's linear warm-up (the recipe's share of the steps)."),
  optimizer: optimizer.optional().describe("AdamW's settings."),
  critic: critic.optional().describe("Rates of the critic, where the algorithm has one."),
  ...loraOptions,
});

const schema = z.object(trainingOptions);

/** What the options say. */
export type TrainingOptions = z.output<typeof schema>;

/**
 * The recipe with the algorithm, sizes and rates that were given.
 *
 * @throws UsageError when the algorithm's settings do not go together
 */
export function trainedRecipe(given: TrainingOptions & AgentOptions, parts: RecipeParts = {}): Recipe {
  const recipe = recipeOf(given, parts);
  const { steps, batchQuestions, samples, learningRate, warmupSteps, temperature } = given;
  const rates = {
    criticLearningRate: given.critic?.learningRate,
    criticWarmupSteps: given.critic?.warmupSteps,
  };
  const sizes = { steps, batchQuestions, samples, learningRate, warmupSteps };
  return {
    ...recipe,
    algorithm: given.algorithm === undefined ? recipe.algorithm : choose(given.algorithm, recipe.algorithm),
    training: {
      ...resizedTraining(recipe.training, { ...sizes, ...rates, ...given.optimizer }),
      lora: given.lora === undefined ? recipe.training.lora : loraOf(given.lora),
    },
    sampling: { ...recipe.sampling, ...defined({ temperature }) },
  };
}

function choose(choice: AlgorithmChoice, own: Algorithm): Algorithm {
  try {
    return chosenAlgorithm(choice, own);
  } catch (error) {
    if (codeOf(error) !== "ERR_ARGUMENT") throw error;
    throw new UsageError(`--algorithm: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * The options with all that the recipe decides written out, so that they give the same run where a recipe has changed.
 *
 * @param given - the options
 * @param recipe - `trainedRecipe` of them
 */
export function resolvedOptions<Options extends TrainingOptions & AgentOptions>(
  given: Options,
  { algorithm, training, sampling, limits }: Recipe,
): Options {
  const { steps, batchQuestions, samples, learningRate, warmupSteps } = training;
  const { lora } = training;
  const critic = { learningRate: training.criticLearningRate, warmupSteps: training.criticWarmupSteps };
  return {
    ...{ ...given, steps, batchQuestions, samples, learningRate, warmupSteps },
    algorithm: choiceOf(algorithm, given.algorithm?.name),
    temperature: sampling.temperature ?? given.temperature,
    optimizer: defined({ decay: training.decay, ...optimiserOf(training) }),
    critic: algorithm.advantage === "gae" ? critic : given.critic,
    lora: lora === undefined ? given.lora : loraChoiceOf(lora),
    limits,
  };
}

/** An algorithm in the words of the option; the name stays, as what is not set is not taken from the recipe's then. */
function choiceOf(
  { aggregation, kl, ...settings }: Algorithm,
  name: AlgorithmChoice["name"],
): AlgorithmChoice {
  return defined({
    ...{ name, ...settings },
    kl: kl ?? { coef: 0 },
    aggregation: typeof aggregation === "object" ? aggregation.tokensPerSequence : aggregation,
  }) as AlgorithmChoice;
}

/** Resolved options without the warm-ups that are the recipe's share of the steps: more steps may have longer ones. */
export function withoutSharedWarmups<Options extends TrainingOptions & AgentOptions>(
  resolved: Options,
): Options {
  const own = resizedTraining(recipeOf(resolved).training, { steps: resolved.steps });
  const { critic, warmupSteps } = resolved;
  const other = (steps: number | undefined, share: number) => (steps === share ? undefined : steps);
  return {
    ...resolved,
    warmupSteps: other(warmupSteps, own.warmupSteps),
    critic: critic && { ...critic, warmupSteps: other(critic.warmupSteps, own.criticWarmupSteps) },
  };
}
