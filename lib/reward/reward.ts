/** Rewards: the number that a trajectory earns, read from the policy's own words only (law 9). */
import { shownValue } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { answerMeant, type Question } from "../data/question.ts";
import { lastAnswer } from "../rollout/grammars/grammar.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { exactMatch, f1 } from "./metrics/metrics.ts";

/**
 * What one trajectory earns as an answer to its question. It throws where that is not known, as when a judge fails:
 * such a trajectory is left out and counted. `signal` fires when nobody waits for the number any more.
 */
export type Reward = (
  trajectory: Trajectory,
  question: Question,
  options?: { readonly signal?: AbortSignal | undefined },
) => number | Promise<number>;

/** Rewards of a trajectory's policy tokens, in order; it throws where they are not known. */
export type TokenReward = (
  trajectory: Trajectory,
  question: Question,
  options?: { readonly signal?: AbortSignal | undefined },
) => ArrayLike<number> | Promise<ArrayLike<number>>;

/**
 * Refuses what types do not keep from being a reward, such as the text that a server sent, or 0 / 0.
 *
 * @param name - of the reward, for the message
 * @param value - what it gave
 * @returns the number
 * @throws ERR_ARGUMENT for anything but a finite number
 */
export function checkReward(name: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new SeekError("ERR_ARGUMENT", `${name}: expected a finite number, got ${shownValue(value)}`);
}

/**
 * The last complete answer among the policy's segments; with a memory stack, the answer that counted. Prompt and
 * observations are never read.
 *
 * @param trajectory - its segments, and its answer where it has a memory stack
 * @returns the answer, trimmed; undefined when the policy gave none
 * @example
 * const prompt = { kind: "prompt", tokens: Int32Array.of(1), text: "<answer> Beijing </answer>" } as const;
 * assert.equal(policyAnswer({ segments: [prompt] }), undefined);
 */
export function policyAnswer({
  segments,
  memory,
  answer,
}: Pick<Trajectory, "segments" | "memory" | "answer">): string | undefined {
  if (memory !== undefined) return answer;
  const answers = segments.map(({ kind, text }) => (kind === "policy" ? lastAnswer(text) : undefined));
  return answers.findLast((answer) => answer !== undefined);
}

/**
 * 1 when the answer is exactly an accepted one, else 0: the reward of RAG-R1.
 *
 * @param trajectory - its segments
 * @param question - its accepted answers
 * @returns 0 or 1
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<answer> Paris </answer>" } as const;
 * const question = { id: "q", question: "capital of France?", answers: ["Paris"] };
 * assert.equal(emReward({ segments: [said] }, question), 1);
 */
export function emReward(
  trajectory: Pick<Trajectory, "segments" | "memory" | "answer">,
  question: Question,
): number {
  const answer = policyAnswer(trajectory);
  return answer === undefined ? 0 : exactMatch(answerMeant(question, answer), question.answers);
}

/**
 * The word F1 of the answer.
 *
 * @param trajectory - its segments
 * @param question - its accepted answers
 * @returns 0 to 1; 0 without an answer
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<answer> New York </answer>" } as const;
 * const question = { id: "q", question: "where?", answers: ["York"] };
 * assert.equal(f1Reward({ segments: [said] }, question), 2 / 3);
 */
export function f1Reward(
  trajectory: Pick<Trajectory, "segments" | "memory" | "answer">,
  question: Question,
): number {
  const answer = policyAnswer(trajectory);
  return answer === undefined ? 0 : f1(answerMeant(question, answer), question.answers);
}

/** One part of a reward, by name. */
export interface RewardPart {
  readonly name: string;
  readonly weight: number;
  readonly reward: Reward;
}

/** A reward and how it came about. */
export interface ScoredReward {
  readonly total: number;
  /** The unweighted value of each part, by name. */
  readonly reasons: Readonly<Record<string, number>>;
}

/**
 * Scores a trajectory by a weighted sum and says what each part gave.
 *
 * @param parts - rewards with names and weights
 * @returns a function like a `Reward`, with reasons; use `.total` as the reward. It throws when a part does, and
 *   ERR_ARGUMENT, naming the part, when one gives no finite number
 * @example
 * const score = weightedReward([{ name: "half", weight: 0.5, reward: () => 1 }]);
 * const { total, reasons } = await score(trajectory, question);
 * assert.deepEqual([total, reasons], [0.5, { half: 1 }]);
 */
export function weightedReward(
  parts: readonly RewardPart[],
): (...args: Parameters<Reward>) => Promise<ScoredReward> {
  return async (...args) => {
    const values = await Promise.all(
      parts.map(async ({ name, reward }) => checkReward(name, await reward(...args))),
    );
    const total = parts.reduce((sum, { weight }, i) => sum + weight * values[i]!, 0);
    return { total, reasons: Object.fromEntries(parts.map(({ name }, i) => [name, values[i]!])) };
  };
}
