/** What the policy's trainer and the critic share: AdamW's options, updates and the optimiser's state on disk. */

import type { NativeAdamW, NativeBatch, NativeLearner } from "../../base/addon/training.ts";
import { checkOptions, countKind, numberIn, type OptionKinds, wholeKind } from "../../base/check-options.ts";
import { codeOf, SeekError } from "../../base/errors.ts";
import { type ProcessGroup, processGroupKind } from "../../comm/process-group.ts";
import { Adapter } from "../../model/adapter.ts";
import { splitFused } from "../../model/fused.ts";
import type { Model } from "../../model/model.ts";
import { findWeights } from "../../model/model-folder.ts";
import { type Policy, policyParts } from "../../model/policy.ts";
import { readSafetensorsHeader, safetensorsHeader } from "../../model/safetensors.ts";
import { type ModelSizes, numRecomputed } from "../memory/activations.ts";
import { numParameters, stateBytes, type ZeroLevel } from "../memory/plan.ts";
import { orFail, type Sharing } from "./shares.ts";
import { partPath, partsOn } from "./state-files.ts";

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

/** Half of what is left beyond gradients and optimiser, whose memory is taken when it is first touched. */
function activationBudget(policy: Policy, model: Model, options: LearnerOptions): number {
  if (options.activationBytes !== undefined) return options.activationBytes;
  const form = { ...options, ranks: options.processGroup?.size };
  const shared = model.tensorParallel?.size ?? 1;
  const states =
    policy === model
      ? stateBytes(numParameters(model.config) / shared, model.dtype, form)
      : stateBytes(policy.numParameters, "float32", form);
  return Math.max(0, process.availableMemory() - states.gradients - states.optimiser) / 2;
}

const stepKinds = { learningRate: numberIn({ from: 0 }) };

/** Updates of one set of weights from summed gradients. */
export abstract class Learner {
  /** @internal */
  protected readonly handle: NativeLearner;
  /** The ranks that train together; undefined for one process. */
  readonly processGroup: ProcessGroup | undefined;
  #numSteps = 0;
  /** Whether each rank has a part of the optimiser's state. @internal */
  readonly sharesState: boolean;
  /** Whether each rank has but a part of the weights while it trains. @internal */
  readonly partsWeights: boolean;
  /** What all ranks must have been given alike. @internal */
  readonly alike: Readonly<Record<string, unknown>>;
  readonly #sizes: ModelSizes;
  readonly #activationBytes: number;
  readonly #policy: Policy;

  /** @internal */
  protected constructor(handle: NativeLearner, policy: Policy, options: LearnerOptions) {
    this.handle = handle;
    this.#policy = policy;
    const { model } = policyParts(policy, "learner");
    this.#sizes = { config: model.config, dtype: model.dtype, hasAdapter: policy !== model };
    this.#activationBytes = activationBudget(policy, model, options);
    const { stateFolder: _, ...optimizer } = adamW(options);
    this.alike = { ...this.#sizes, numParameters: policy.numParameters, optimizer };
    this.processGroup = options.processGroup;
    const { processGroup, zero = 0, gradientShards } = options;
    const numRanks = processGroup?.size ?? 1;
    this.sharesState = zero > 0 && numRanks > 1;
    this.partsWeights = zero === 3 && numRanks > 1;
    const isTogether = gradientShards !== undefined || (zero > 1 && numRanks > 1);
    this.sharing = { processGroup, numParts: gradientShards ?? numRanks, isTogether };
  }

  /**
   * Layers that make their activations again in a micro-batch's backward pass.
   *
   * @param batch - the micro-batch, packed
   * @returns how many, from the first on
   * @internal
   */
  protected recomputedIn({ tokens, rows }: NativeBatch): number {
    return numRecomputed(this.#sizes, { tokens: tokens.length, rows: rows.length }, this.#activationBytes);
  }

  /** How a step's sequences are shared out. @internal */
  protected readonly sharing: Sharing;

  /** Optimiser steps taken so far, those of a resumed run included. */
  get numSteps(): number {
    return this.#numSteps;
  }

  /**
   * Applies the gradients summed since the last step and zeroes them.
   *
   * @param options - `learningRate` of this step
   * @returns the global gradient norm before clipping
   * @throws ERR_RANGE for a rate below 0 or not finite, and when the norm is not finite; the weights are then unchanged and the gradients zeroed. ERR_STATE
   *   once closed
   */
  async step(options: { readonly learningRate: number }): Promise<{ gradNorm: number }> {
    const { learningRate } = checkOptions("step", options, stepKinds, ["learningRate"]);
    // All ranks come to the same norm, whatever it is.
    const isShared = (error: unknown): boolean => codeOf(error) === "ERR_RANGE";
    const gradNorm = await orFail(this.handle.step(learningRate), this.processGroup, isShared);
    this.#numSteps += 1;
    return { gradNorm };
  }

  /**
   * Gives every rank all weights, until the next `accumulate` or `step`, as generation, scoring and saving need them where
   * ranks share them out (`zero: 3`); elsewhere they have them always. All ranks call it.
   *
   * @throws ERR_REMOTE naming the rank that is gone; ERR_STATE once closed
   */
  gatherWeights(): Promise<void> {
    return orFail(this.handle.gatherWeights(), this.processGroup);
  }

  /** Forgets the gradients summed since the last step. @throws ERR_STATE once closed */
  zeroGradients(): Promise<void> {
    return this.handle.zeroGradients();
  }

  /**
   * The gradient summed so far for one parameter, over all ranks, which all call it.
   *
   * @param name - Hugging Face's name
   * @returns a copy, row-major, in f32
   * @throws ERR_ARGUMENT when no parameter has that name; ERR_STATE once closed
   */
  gradient(name: string): Promise<Float32Array> {
    return this.handle.gradient(name);
  }

  /**
   * Writes the optimiser's state as a safetensors file: moments, and what bfloat16 weights lack of float32. Where ranks share
   * it out, each writes its own part beside it, `<name>-00002-of-00004.safetensors`; otherwise the first rank alone writes.
   *
   * @param path - the file, written whole or not at all
   * @throws ERR_IO when the file system refuses; ERR_STATE once closed
   */
  async saveState(path: string): Promise<void> {
    const { rank, size } = this.processGroup ?? { rank: 0, size: 1 };
    if (rank > 0 && !this.sharesState) return;
    const own = this.sharesState ? partPath(path, rank, size) : path;
    await this.handle.writeState(own, safetensorsHeader(this.handle.stateTensors()));
  }

  /**
   * Reads what `saveState` wrote, on however many ranks that was.
   *
   * @param path - the file
   * @param numSteps - steps taken when it was written; Adam's bias correction needs them
   * @throws ERR_IO when a file cannot be read; ERR_FORMAT when it belongs to another model, or a part is missing; ERR_RANGE
   *   when a number is not finite, a moment is one that no gradients leave or `numSteps` is no whole number; ERR_STATE once closed
   */
  async loadState(path: string, numSteps: number): Promise<void> {
    wholeKind("numSteps", numSteps);
    const headers = await Promise.all((await partsOn(path)).map(readSafetensorsHeader));
    await this.handle.readState(headers.flat(), numSteps);
    this.#numSteps = numSteps;
  }

  /**
   * Replaces the weights by a folder's: all of them where this rank has them whole, else its share alone.
   *
   * @param folder - of a model or adapter of this shape
   * @throws ERR_IO when a file cannot be read; ERR_FORMAT when it holds others than these weights; ERR_STATE once closed
   * @internal
   */
  async readWeights(folder: string): Promise<void> {
    if (this.#policy instanceof Adapter) {
      await this.gatherWeights();
      return this.#policy.read(folder);
    }
    await this.handle.readWeights(splitFused(await findWeights(folder), this.#policy.config));
  }

  /**
   * Writes the policy's folder; all ranks call it, and the first one writes. Weights of which ranks have shares are brought layer by
   * layer, and stay parted.
   *
   * @param folder - made when missing
   * @throws ERR_IO when the file system refuses; ERR_RANGE when a weight is not finite; ERR_STATE once closed
   * @internal
   */
  async saveWeights(folder: string): Promise<void> {
    const own = (this.processGroup?.rank ?? 0) === 0 ? folder : undefined;
    const policy = this.#policy;
    if (!this.partsWeights || policy instanceof Adapter) {
      await this.gatherWeights();
      if (own !== undefined) await policy.save(own);
      return;
    }
    const { handle } = this;
    await orFail(
      policy.saveBy((...file) => handle.writeWeights(...file), own),
      this.processGroup,
    );
  }

  /** Releases gradients and moments once the work under way is done; idempotent. */
  close(): void {
    this.handle.close();
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
