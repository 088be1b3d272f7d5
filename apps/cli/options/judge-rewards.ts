/** Rewards by a language model, for training: answers that it judges, searches that it rates. */
import { z } from "zod";
import { judgeReward, relevanceReward } from "../../../lib/reward/judge.ts";
import type { Reward } from "../../../lib/reward/reward.ts";
import { UsageError } from "../command.ts";
import { judgeOptions, openJudge, readPrompt } from "./judge-options.ts";

/** The judge, and what it is asked besides. */
export const judgeRewardOptions = {
  ...judgeOptions,
  relevance: z
    .boolean()
    .default(false)
    .describe("of agentic-rag-r1 with --judge-url: up to 2 points for what was found, rated by the judge"),
  relevancePrompt: z
    .string()
    .optional()
    .describe("with --relevance: file of instructions with {question}, {context}, answered by 0, 1 or 2"),
};

const schema = z.object(judgeRewardOptions);

/** Parts of a reward that a model gives. */
export interface JudgeRewards {
  /** 1 for a right answer, 0 for another or none. */
  readonly accuracy: Reward;
  /** 0 to 2. @default it is not asked */
  readonly relevance?: Reward | undefined;
}

/** Rewards, and how the judge behind them is given back. */
export interface OpenedRewards extends AsyncDisposable {
  readonly judge?: JudgeRewards;
}

/**
 * The rewards that the options name.
 *
 * @param choice - judge and relevance
 * @returns none when no judge is named
 * @throws UsageError for half of a choice; as `openJudge`
 */
export async function openJudgeRewards({
  relevance,
  relevancePrompt,
  ...choice
}: z.output<typeof schema>): Promise<OpenedRewards> {
  if (relevance && choice.judgeUrl === undefined) {
    throw new UsageError("--relevance: expected only with --judge-url");
  }
  if (relevancePrompt !== undefined && !relevance) {
    throw new UsageError("--relevance-prompt: expected only with --relevance");
  }
  const instructions =
    relevancePrompt === undefined
      ? {}
      : { prompts: [await readPrompt(relevancePrompt, ["{question}", "{context}"])] };
  const opened = await openJudge(choice);
  if (opened === undefined) return { [Symbol.asyncDispose]: async () => {} };
  const { ask, prompt } = opened;
  const accuracy: Reward = (...played) => ask((chat) => judgeReward(chat, prompt)(...played));
  const rated: Reward = (...played) => ask((chat) => relevanceReward(chat, instructions)(...played));
  return {
    judge: { accuracy, relevance: relevance ? rated : undefined },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
