/** Rewards by a language model, for training: answers that it judges, searches that it rates. */
import { z } from "zod";
import { judgeReward, relevanceReward } from "../../../lib/reward/judge.ts";
import type { Reward } from "../../../lib/reward/reward.ts";
import { UsageError } from "../command.ts";
import { inGroup } from "../fields.ts";
import { judgeChoice, openJudge, readPrompt } from "../options/judge-options.ts";

const choice = judgeChoice.extend({
  relevance: z
    .boolean()
    .default(false)
    .describe("Of agentic-rag-r1: up to 2 points for what was found, rated by the judge."),
  relevancePrompt: z
    .string()
    .optional()
    .describe("With relevance: file of instructions with {question}, {context}, answered by 0, 1 or 2."),
});

/** A language model that judges answers, and what it is asked besides. */
export const judgeRewardOptions = inGroup("Rewards", {
  judge: choice
    .optional()
    .meta({ head: "url", description: "A language model on a server that rewards right answers." }),
});

/** Parts of a reward that a model gives. */
interface JudgeRewards {
  /** 1 for a right answer, 0 for another or none. */
  readonly accuracy: Reward;
  /** 0 to 2. @default it is not asked */
  readonly relevance?: Reward | undefined;
}

/** Rewards, and how the judge behind them is given back. */
interface OpenedRewards extends AsyncDisposable {
  readonly judge?: JudgeRewards;
}

/**
 * The rewards that a judge gives.
 *
 * @param judge - judge and relevance
 * @returns none when no judge is named
 * @throws UsageError for half of a choice; as `openJudge`
 */
export async function openJudgeRewards(judge: z.output<typeof choice> | undefined): Promise<OpenedRewards> {
  const opened = await openJudge(judge);
  if (opened === undefined || judge === undefined) return { [Symbol.asyncDispose]: async () => {} };
  const { relevance, relevancePrompt } = judge;
  if (relevancePrompt !== undefined && !relevance) {
    throw new UsageError("--judge: relevancePrompt: expected only with relevance");
  }
  const prompts =
    relevancePrompt === undefined
      ? undefined
      : [await readPrompt(relevancePrompt, ["{question}", "{context}"])];
  const { ask, prompt } = opened;
  const accuracy: Reward = (...args) => ask((chat) => judgeReward(chat, { prompt })(...args));
  const rated: Reward = (...args) => ask((chat) => relevanceReward(chat, { prompts })(...args));
  return {
    judge: { accuracy, relevance: relevance ? rated : undefined },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
