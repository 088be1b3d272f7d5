/** What a token counts that other weights sampled than those an update starts from, or another machine's arithmetic. */
import { checkOptions, numberIn, type OptionCheck } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { corrections } from "./names.ts";

/**
 * Multiplies each token's objective by what the ratio `exp(old - rollout)` of its log-probabilities is made to: `old` by the
 * trainer as the update starts, `rollout` as it was sampled. No gradient flows through it; KL to the reference, entropy bonus and
 * the weights of the tokens stay as they are. Where rollout and trainer agree bit for bit it changes no bit.
 */
export interface OffPolicyCorrection {
  /**
   * `tis`, truncated importance sampling: at most `high` (Yao et al., "Your efficient RL framework secretly brings you off-policy
   * RL training", 2025). `mis`, masked importance sampling: the ratio within `[low, high]`, 0 outside (IcePop, arXiv 2510.18855).
   */
  readonly by: (typeof corrections)[number];
  /** Of `mis`: above 0, at most 1. @default 0.5 */
  readonly low?: number | undefined;
  /** At least 1. @default 2 of `tis`, 5 of `mis` */
  readonly high?: number | undefined;
}

const kinds = { by: corrections, low: numberIn({ above: 0, to: 1 }), high: numberIn({ from: 1 }) };

/** Of an option `correction`. */
export const correctionKind: OptionCheck = (name, value) => {
  const { by, low } = checkOptions(name, value as OffPolicyCorrection, kinds, ["by"]);
  if (by === "mis" || low === undefined) return;
  throw new SeekError("ERR_ARGUMENT", `${name}.low: expected none for tis, which only truncates; got ${low}`);
};

/** As the native loss takes it. */
export function nativeCorrection(correction: OffPolicyCorrection | undefined) {
  const { by = "none", low = by === "mis" ? 0.5 : 0, high = by === "mis" ? 5 : 2 } = correction ?? {};
  return { correction: by, correctionLow: low, correctionHigh: high };
}
