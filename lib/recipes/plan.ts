/** From a recipe to the agent that follows it and the options that train it. */
import type { Question } from "../data/question.ts";
import { type AgentParts, searchAgent } from "../rollout/agents/search-agent.ts";
import type { Search } from "../search/search.ts";
import { schedule } from "../train/algorithm/schedule.ts";
import type { RlOptions } from "../train/rl-options.ts";
import type { Recipe } from "./recipe.ts";

/** What of an agent belongs to the model. */
type PolicyParts = Pick<AgentParts, "engine" | "tokenizer" | "chatTemplate">;

/**
 * A recipe's agent.
 *
 * @param policy - engine, tokenizer, chat template
 * @param recipe - conversation, limits, tools
 * @param found - the search; a recipe may look into queries before they reach it
 * @returns the parts of an agent
 * @example
 * const parts = agentPartsOf({ engine, tokenizer }, ragR1({ queries: "multi" }), search);
 * assert.equal(parts.limits.maxTurns, 5);
 */
export function agentPartsOf(
  { engine, tokenizer, chatTemplate }: PolicyParts,
  { format, tools, limits, sampling, searchThrough }: Recipe,
  found: Search,
): AgentParts {
  const search = searchThrough?.(found) ?? found;
  return { engine, tokenizer, chatTemplate, search, tools, format, limits, sampling };
}

/**
 * A recipe's training.
 *
 * @param recipe - reward, algorithm, sizes
 * @param parts - of the agent that is trained
 * @param questions - what it is asked
 * @returns what `rl` needs besides learners and a folder
 * @example
 * const recipe = reSearch();
 * const { batch, steps } = trainingOf(recipe, agentPartsOf({ engine, tokenizer }, recipe, search), questions);
 * assert.deepEqual([batch.questions, batch.samples, steps], [256, 5, 154]);
 */
export function trainingOf(
  { reward, groupReward, tokenRewards, algorithm, training, sampling }: Recipe,
  parts: AgentParts,
  questions: readonly Question[],
): Pick<RlOptions, "task" | "algorithm" | "batch" | "steps" | "learningRate"> {
  const { steps, batchQuestions, samples, learningRate, warmupSteps, decay } = training;
  return {
    task: {
      ...{ questions, reward },
      rollout: searchAgent(parts).rollouts,
      groupReward,
      tokenRewards: tokenRewards?.(parts.tokenizer),
    },
    ...{ algorithm, steps },
    batch: { questions: batchQuestions, samples, sampling },
    learningRate: {
      policy: schedule({ peak: learningRate, warmupSteps, decay, steps }),
      critic: schedule({ peak: training.criticLearningRate, warmupSteps: training.criticWarmupSteps }),
    },
  };
}
