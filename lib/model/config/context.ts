/** How long the sequences may be that a model runs. */
import { SeekError } from "../../base/errors.ts";
import type { RopeScaling } from "./rope.ts";

/** The longest sequence for which a scaling is meant: with `dynamic` and `longrope`, at first, the original context. */
export function usualContext(scaling: RopeScaling, maxPosition: number): number {
  return scaling.kind === "longrope" ? scaling.originalMaxPosition : maxPosition;
}

/** The longest sequence that a model may be loaded for. */
export function longestContext(scaling: RopeScaling, maxPosition: number): number {
  const isStretched = scaling.kind === "yarn" || scaling.kind === "dynamic";
  return isStretched
    ? Math.max(maxPosition, Math.floor(scaling.factor * scaling.originalMaxPosition))
    : maxPosition;
}

/** What of a model's shape bounds its sequences. */
interface ContextLimits {
  readonly ropeScaling: RopeScaling;
  readonly maxPosition: number;
  readonly contextTokens: number;
}

/**
 * Refuses a sequence that is longer than the model is loaded for.
 *
 * @param config the model's
 * @param numTokens of the sequence
 * @param what names it in the complaint
 * @throws ERR_RANGE with the remedy
 */
export function checkContext(config: ContextLimits, numTokens: number, what: string): void {
  const { contextTokens, ropeScaling, maxPosition } = config;
  if (numTokens <= contextTokens) return;
  const most = longestContext(ropeScaling, maxPosition);
  const remedy =
    numTokens <= most
      ? `load the model with contextTokens from ${numTokens} on`
      : `shorten it: the model runs up to ${most}`;
  throw new SeekError(
    "ERR_RANGE",
    `${what}: expected up to ${contextTokens} tokens (contextTokens), got ${numTokens}; ${remedy}`,
  );
}
