/** What a LoRA adapter is made of: its options, and the shape that comes of them. */
import { checkArgument, countKind, numberIn, type OptionKinds, wholeKind } from "../../base/check-options.ts";

/** The size of an adapter, and what it is put on. */
export interface LoraOptions {
  /** Width of what is trained of each projection; at most that of the widest one. @default 16 */
  readonly rank?: number | undefined;
  /** What is added counts `alpha / rank`. @default 2 * rank */
  readonly alpha?: number | undefined;
  /** Projections by their names, or by what stands behind a dot of them, such as `q_proj`. @default "all-linear" */
  readonly targets?: readonly string[] | "all-linear" | undefined;
  /** What is added counts `alpha / sqrt(rank)` (arXiv 2312.03732). @default false */
  readonly rankStabilised?: boolean | undefined;
  /** Of the random half; the other is zero. @default 0 */
  readonly seed?: number | undefined;
}

/** Of {@link LoraOptions}. */
export const loraKinds: OptionKinds<LoraOptions> = {
  rank: countKind,
  alpha: numberIn({ above: 0 }),
  targets: (name, value) => checkArgument(name, value, Array.isArray(value) ? "list" : ["all-linear"]),
  rankStabilised: "boolean",
  seed: wholeKind,
};

/** An adapter's shape, as it is stored and compared. */
export interface AdapterShape {
  readonly rank: number;
  readonly alpha: number;
  readonly rankStabilised: boolean;
  /** In order of their names. */
  readonly targets: readonly string[];
}

/** Rank and scale, for messages. */
export function scaleText({ rank, alpha, rankStabilised }: Omit<AdapterShape, "targets">): string {
  return `rank ${rank} and alpha ${alpha}${rankStabilised ? ", rank-stabilised" : ""}`;
}
