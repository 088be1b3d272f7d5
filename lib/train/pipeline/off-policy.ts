/** What an algorithm does about rollouts that were begun under older weights. */
import { SeekError } from "../../base/errors.ts";
import type { Algorithm } from "../algorithm/algorithm.ts";

/** What of a batch's options decides it. */
interface Staleness {
  readonly staleness?: number | undefined;
  readonly oldLogprobs?: "trainer" | "rollout" | undefined;
}

/**
 * The algorithm with the correction that stale rollouts need: the ratio starts from the trainer's log-probabilities as the update
 * starts, and what the rollout's were off then is a truncated weight of its own, as in decoupled PPO (arXiv 2110.00641; AReaL,
 * arXiv 2505.24298). Ratios that start from the rollout's own log-probabilities have it within them.
 *
 * @param algorithm - as it was chosen
 * @param batch - how stale, and where ratios start
 * @returns the same without staleness, or with a correction of its own
 */
export function offPolicyAlgorithm(
  algorithm: Algorithm,
  { staleness = 0, oldLogprobs }: Staleness,
): Algorithm {
  if (staleness === 0 || oldLogprobs === "rollout" || algorithm.correction !== undefined) return algorithm;
  return { ...algorithm, correction: { by: "tis" } };
}

/** @throws ERR_ARGUMENT for what does not go together */
export function checkOffPolicy(
  { correction, lossOn }: Algorithm,
  { staleness = 0, oldLogprobs }: Staleness,
): void {
  if (correction !== undefined && oldLogprobs === "rollout") {
    const what = 'expected batch.oldLogprobs "trainer", which it compares with those of the rollout';
    throw new SeekError("ERR_ARGUMENT", `algorithm.correction: ${what}`);
  }
  if (lossOn !== "all" || (staleness === 0 && correction === undefined)) return;
  const name = staleness > 0 ? "batch.staleness" : "algorithm.correction";
  const what =
    'expected algorithm.lossOn "policy": what was retrieved has no log-probabilities of the rollout';
  throw new SeekError("ERR_ARGUMENT", `${name}: ${what}`);
}
