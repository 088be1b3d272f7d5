/** Penalties for length and repetition: parts of a weighted sum, 0 when there is nothing to fault. */
import { checkOptions } from "../base/check-options.ts";
import type { Spoken } from "./reading.ts";

/** When a trajectory is too long. */
export interface OverlongOptions {
  /** Policy tokens from which the penalty is whole. */
  readonly maxTokens: number;
  /** The penalty grows over this many tokens before. @default a fifth of `maxTokens` */
  readonly buffer?: number;
}

/**
 * DAPO's soft penalty for length (arXiv 2503.14476): 0 up to `maxTokens - buffer` policy tokens, then falling in a line
 * to -1 at `maxTokens`. What the environment says is not counted.
 *
 * @param options - where it begins and ends
 * @returns a reward from -1 to 0
 * @example
 * const said = { kind: "policy", tokens: new Int32Array(90), text: "" } as const;
 * assert.equal(overlongPenalty({ maxTokens: 100, buffer: 20 })({ segments: [said] }), -0.5);
 */
export function overlongPenalty(options: OverlongOptions): (trajectory: Spoken) => number {
  checkOptions("overlongPenalty", options, { maxTokens: "number", buffer: "number" }, ["maxTokens"]);
  const { maxTokens, buffer = maxTokens / 5 } = options;
  return ({ segments }) => {
    const length = segments.reduce(
      (sum, { kind, tokens }) => sum + (kind === "policy" ? tokens.length : 0),
      0,
    );
    return Math.max(-1, Math.min(0, (maxTokens - buffer - length) / buffer));
  };
}

/**
 * Minus the share of the policy's n-grams of tokens that it had written before in the same turn.
 *
 * @param options - `n`, `@default` 4
 * @returns a reward from -1 to 0
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1, 2, 1, 2, 1), text: "" } as const;
 * assert.equal(repetitionPenalty({ n: 2 })({ segments: [said] }), -0.5);
 */
export function repetitionPenalty(options: { readonly n?: number } = {}): (trajectory: Spoken) => number {
  checkOptions("repetitionPenalty", options, { n: "number" });
  const { n = 4 } = options;
  return ({ segments }) => {
    let [total, distinct] = [0, 0];
    for (const { kind, tokens } of segments) {
      if (kind !== "policy") continue;
      const grams = gramsOf(tokens, n);
      total += grams.length;
      distinct += new Set(grams).size;
    }
    return total === 0 ? 0 : distinct / total - 1;
  };
}

function gramsOf(tokens: Int32Array, n: number): string[] {
  const count = Math.max(0, tokens.length - n + 1);
  return Array.from({ length: count }, (_, i) => tokens.subarray(i, i + n).join(" "));
}
