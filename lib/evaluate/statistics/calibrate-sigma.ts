/** Finds the state value from which on a memory-stack agent's answers are better not believed. */
import { SeekError } from "../../base/errors.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";

/** An answered question. */
export interface JudgedAnswer {
  /** Answered with an infinite `sigma`, so that every answer counted. */
  readonly trajectory: Pick<Trajectory, "memory">;
  readonly isRight: boolean;
}

/**
 * The threshold that separates right from wrong answers best: the share of right answers below it, less the share of
 * wrong ones below it, is greatest (Youden's index). Of equally good ones the greatest, which doubts least.
 *
 * @param judged - trajectories of one model, with the state values of their answers
 * @returns a `sigma` for `Format.memory`; infinite when no threshold is better than none
 * @throws ERR_ARGUMENT when no answer was right, or none has a state value
 * @example
 * const judged = [[0.1, true], [0.3, true], [0.9, false]].map(([value, isRight]) => {
 *   const action = { kind: "answer", segment: 1, popped: 0, value };
 *   return { isRight, trajectory: { memory: { actions: [action], peakTokens: 9, finalTokens: 9, totalTokens: 9 } } };
 * });
 * assert.equal(calibrateSigma(judged), 0.6);
 */
export function calibrateSigma(judged: readonly JudgedAnswer[]): number {
  const answers = judged.flatMap(({ trajectory, isRight }) => {
    const last = trajectory.memory?.actions.at(-1);
    return last?.kind === "answer" && last.value !== undefined ? [{ value: last.value, isRight }] : [];
  });
  const numRight = answers.filter(({ isRight }) => isRight).length;
  if (numRight === 0) {
    throw new SeekError(
      "ERR_ARGUMENT",
      `answers: expected a right one with a state value, got ${answers.length} others`,
    );
  }
  const numWrong = answers.length - numRight;
  answers.sort((a, b) => a.value - b.value);
  let best = { index: Number.NEGATIVE_INFINITY, sigma: Number.POSITIVE_INFINITY };
  let index = 0;
  for (const [i, { value, isRight }] of answers.entries()) {
    index += isRight ? 1 / numRight : -1 / numWrong;
    const next = answers[i + 1]?.value ?? Number.POSITIVE_INFINITY;
    // Nothing separates equal values; sums of shares may differ by rounding.
    if (next > value && index > best.index - 1e-12) best = { index, sigma: (value + next) / 2 };
  }
  return best.sigma;
}
