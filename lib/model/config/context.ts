/** How long the sequences may be that a model runs. */
import { SeekError } from "../../base/errors.ts";
import type { RopeScaling } from "./rope.ts";

/** The longest sequence for which a scaling is meant: with `dynamic` and `longrope`, at first, the original context. */
export function usualContext(scaling: RopeScaling, maxPosition: number): number {
  return scaling.kind === "longrope" ? scaling.originalMaxPosition : maxPosition;
}

/** The longest sequence that a model may be loaded for. */
function longestContext(scaling: RopeScaling, maxPosition: number): number {
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

/** A shape with the longest sequence that a model is loaded for. @throws ERR_RANGE for one that the model cannot run */
export function withContext<Config extends ContextLimits>(
  config: Config,
  contextTokens = config.contextTokens,
): Config {
  const most = longestContext(config.ropeScaling, config.maxPosition);
  if (contextTokens <= most) return { ...config, contextTokens };
  throw new SeekError(
    "ERR_RANGE",
    `contextTokens: expected up to ${most} for this model, got ${contextTokens}`,
  );
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
