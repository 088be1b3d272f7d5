/** What the policy's trainer and the critic are opened with: AdamW's settings, memory, and how ranks share the work. */

import type { NativeAdamW } from "../../base/addon/training.ts";
import { checkOptions, countKind, numberIn, type OptionKinds } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { type ProcessGroup, processGroupKind } from "../../comm/process-group.ts";
import type { ZeroLevel } from "../memory/plan.ts";

/** Settings of AdamW (Loshchilov and Hutter, arXiv 1711.05101). */
export interface AdamWOptions {
  /** @default 0.9 */
  readonly beta1?: number;
  /** @default 0.999 */
  readonly beta2?: number;
  /** @default 1e-8 */
  readonly epsilon?: number;
  /** Decoupled. @default 0.01 */
  readonly weightDecay?: number;
  /** Whether norms and biases are decayed too. @default false */
  readonly decayVectors?: boolean;
  /** Bound on the global gradient norm; 0 turns clipping off. @default 1 */
  readonly maxGradNorm?: number;
  /**
   * How the two moments are kept: 4 bytes each, or 1 with a scale for every 256 (Dettmers et al., arXiv 2110.02861).
   *
   * @default "float32"
   */
  readonly moments?: "float32" | "8-bit";
  /**
   * Whether bfloat16 weights keep the 16 bits that they lack of float32. Without, each update is rounded at random, up
   * with the probability of what is cut off (stochastic rounding); the draws follow from the step, so that a run resumes.
   *
   * @default true
   */
  readonly masterWeights?: boolean;
  /**
   * A folder in which nameless files hold moments and masters, mapped into memory: the system writes out what it has no
   * room for, at the disk's speed, and the files are gone with the learner. Not a bit differs. CPU only.
   *
   * @default in memory
   */
  readonly stateFolder?: string | undefined;
}

/** AdamW's settings, and the memory of a backward pass. */
export interface LearnerOptions extends AdamWOptions {
  /**
   * Bytes that a micro-batch may keep for its backward pass. Where its layers would keep more, the first ones make their
   * activations again, which takes time but changes no bit of the gradients.
   *
   * @default half of what the system has left when the learner is opened
   */
  readonly activationBytes?: number | undefined;
  /**
   * The ranks that train together; not those that share a model (`tensorParallel`), which all run every sequence. All open the same policy and give `accumulate` and `step` the same; each runs a part of
   * the sequences, and gradients and statistics are summed over ranks. @default one process
   */
  readonly processGroup?: ProcessGroup | undefined;
  /**
   * What the ranks share out instead of each keeping all of it (ZeRO, arXiv 1910.02054). 0: nothing. 1: moments and masters.
   * 2: gradients too, which are summed over ranks while the backward goes on. 3: weights too; a layer's are brought when it
   * needs them, and {@link Learner.gatherWeights} brings all.
   *
   * @default 0
   */
  readonly zero?: ZeroLevel | undefined;
  /**
   * Sums gradients so that weights have the same bits for any number of ranks: sequences are cut into so many parts by
   * themselves alone, whose micro-batches are the leaves of one tree. A power of two that the ranks divide. Each micro-batch
   * is summed over ranks by itself, which takes longer.
   *
   * @default ranks' sums are added in any order
   */
  readonly gradientShards?: number | undefined;
  /**
   * What gradients travel in between ranks. In bfloat16 they take half the bytes: each rank rounds its own to 8 bits, sums are
   * formed in float32. Not together with `gradientShards`: one rank rounds nothing, so that bits would depend on how many there are.
   *
   * @default "float32"
   */
  readonly reduceDtype?: "float32" | "bfloat16" | undefined;
}

const optionKinds: OptionKinds<LearnerOptions> = {
  beta1: numberIn({ from: 0, below: 1 }),
  beta2: numberIn({ from: 0, below: 1 }),
  epsilon: numberIn({ from: 0 }),
  weightDecay: numberIn({ from: 0 }),
  decayVectors: "boolean",
  maxGradNorm: numberIn({ from: 0 }),
  moments: ["float32", "8-bit"],
  masterWeights: "boolean",
  stateFolder: "string",
  zero: numberIn({ from: 0, to: 3, isWhole: true }),
  gradientShards: countKind,
  reduceDtype: ["float32", "bfloat16"],
  activationBytes: numberIn({ from: 0 }),
  processGroup: processGroupKind,
};

/**
 * Fills in AdamW's defaults.
 *
 * @param options - what the caller chose
 * @returns every setting
 * @throws ERR_ARGUMENT for an unknown key or a value of another type; ERR_RANGE for a number that cannot be one
 */
export function adamW(options: LearnerOptions = {}): NativeAdamW {
  checkOptions("optimiser", options, optionKinds);
  const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 } = options;
  const { weightDecay = 0.01, decayVectors = false, maxGradNorm = 1 } = options;
  const { moments = "float32", masterWeights = true, stateFolder = "" } = options;
  const { zero = 0, gradientShards = 0, reduceDtype = "float32" } = options;
  checkShards(gradientShards, options.processGroup?.size ?? 1);
  if (gradientShards > 0 && reduceDtype !== "float32")
    throw new SeekError("ERR_ARGUMENT", "reduceDtype: expected float32 with gradientShards, got bfloat16");
  const form = { moments, masterWeights, stateFolder, zero, gradientShards, reduceDtype };
  return { beta1, beta2, epsilon, weightDecay, decayVectors, maxGradNorm, ...form };
}

function checkShards(shards: number, ranks: number): void {
  if (shards === 0 || (Number.isInteger(Math.log2(shards)) && shards % ranks === 0)) return;
  const expected = `a power of two that is a multiple of the ${ranks} ranks`;
  throw new SeekError("ERR_ARGUMENT", `gradientShards: expected ${expected}, got ${shards}`);
}
