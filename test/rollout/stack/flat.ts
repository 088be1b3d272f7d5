/** A trajectory's segments laid end to end, one entry per token, beside `trajectoryTokens`. */
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";

type Segments = Pick<Trajectory, "segments">;

/** 1 for a token the policy sampled, 0 elsewhere, `[T]`. */
export function trainableTokens({ segments }: Segments): number[] {
  return segments.flatMap(({ kind, tokens }) => Array.from(tokens, () => (kind === "policy" ? 1 : 0)));
}

/** Natural log of each policy token's probability at generation, 0 elsewhere, `[T]`. */
export function trajectoryLogprobs({ segments }: Segments): number[] {
  return segments.flatMap(({ tokens, logprobs }) => Array.from(tokens, (_, t) => logprobs?.[t] ?? 0));
}
