/** What the policy's trainer and the critic share: AdamW's options, updates and the optimiser's state on disk. */

import type { NativeAdamW, NativeBatch, NativeLearner } from "../../base/addon/training.ts";
import { checkOptions, numberIn, type OptionKinds, wholeKind } from "../../base/check-options.ts";
import type { ProcessGroup } from "../../comm/process-group.ts";
import type { Model } from "../../model/model.ts";
import { type Policy, policyParts } from "../../model/policy.ts";
import { readSafetensorsHeader, safetensorsHeader } from "../../model/safetensors.ts";
import { type ModelSizes, numRecomputed } from "../memory/activations.ts";
import { numParameters, stateBytes } from "../memory/plan.ts";

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
  /**
   * What the ranks of `processGroup` share out instead of each keeping all of it (ZeRO, arXiv 1910.02054): nothing, or
   * moments and masters. With one process nothing differs.
   *
   * @default 0
   */
  readonly zero?: 0 | 1 | undefined;
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
   * The ranks that train together. All open the same policy and give `accumulate` and `step` the same; each runs a part of
   * the sequences, and gradients and statistics are summed over ranks. @default one process
   */
  readonly processGroup?: ProcessGroup | undefined;
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
  zero: numberIn({ from: 0, to: 1, isWhole: true }),
  activationBytes: numberIn({ from: 0 }),
  processGroup: "object",
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
  const { moments = "float32", masterWeights = true, stateFolder = "", zero = 0 } = options;
  const form = { moments, masterWeights, stateFolder, zero };
  return { beta1, beta2, epsilon, weightDecay, decayVectors, maxGradNorm, ...form };
}

/** Half of what is left beyond gradients and optimiser, whose memory is taken when it is first touched. */
function activationBudget(policy: Policy, model: Model, options: LearnerOptions): number {
  if (options.activationBytes !== undefined) return options.activationBytes;
  const states =
    policy === model
      ? stateBytes(numParameters(model.config), model.dtype, options)
      : stateBytes(policy.numParameters, "float32", options);
  return Math.max(0, process.availableMemory() - states.gradients - states.optimiser) / 2;
}

/** Statistics of two parts of a batch: sums, and the larger of two maxima. */
function added<Stats extends { readonly [Name in keyof Stats]: number }>(a: Stats, b: Stats): Stats {
  const names = Object.keys(a) as (keyof Stats & string)[];
  const sums = names.map((name) => [
    name,
    name.endsWith("Max") ? Math.max(a[name], b[name]) : a[name] + b[name],
  ]);
  return Object.fromEntries(sums) as Stats;
}

const stepKinds = { learningRate: numberIn({ from: 0 }) };

/** Updates of one set of weights from summed gradients. */
export abstract class Learner {
  /** @internal */
  protected readonly handle: NativeLearner;
  /** The ranks that train together; undefined for one process. */
  readonly processGroup: ProcessGroup | undefined;
  #numSteps = 0;
  readonly #sizes: ModelSizes;
  readonly #activationBytes: number;

  /** @internal */
  protected constructor(handle: NativeLearner, policy: Policy, options: LearnerOptions) {
    this.handle = handle;
    const { model } = policyParts(policy, "learner");
    this.#sizes = { config: model.config, dtype: model.dtype, hasAdapter: policy !== model };
    this.#activationBytes = activationBudget(policy, model, options);
    this.processGroup = options.processGroup;
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

  /**
   * Sums what each rank's part of the sequences adds up to.
   *
   * @param what - the sums, for errors
   * @param run - runs this rank's part
   * @returns the sums over all ranks
   * @internal
   */
  protected async overRanks<Stats extends { readonly [Name in keyof Stats]: number }>(
    what: string,
    run: () => Promise<Stats>,
  ): Promise<Stats> {
    if (this.processGroup === undefined) return run();
    const [first, ...others] = await this.processGroup.allGather(what, run());
    return others.reduce((sums, stats) => added(sums, stats), first!);
  }

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
    const gradNorm = await this.handle.step(learningRate);
    this.#numSteps += 1;
    return { gradNorm };
  }

  /** Forgets the gradients summed since the last step. @throws ERR_STATE once closed */
  zeroGradients(): Promise<void> {
    return this.handle.zeroGradients();
  }

  /**
   * The gradient summed so far for one parameter.
   *
   * @param name - Hugging Face's name
   * @returns a copy, row-major, in f32
   * @throws ERR_ARGUMENT when no parameter has that name; ERR_STATE once closed
   */
  gradient(name: string): Promise<Float32Array> {
    return this.handle.gradient(name);
  }

  /**
   * Writes the optimiser's state as a safetensors file: moments, and what bfloat16 weights lack of float32.
   *
   * @param path - the file, written whole or not at all
   * @throws ERR_IO when the file system refuses; ERR_STATE once closed
   */
  async saveState(path: string): Promise<void> {
    await this.handle.writeState(path, safetensorsHeader(this.handle.stateTensors()));
  }

  /**
   * Reads what `saveState` wrote.
   *
   * @param path - the file
   * @param numSteps - steps taken when it was written; Adam's bias correction needs them
   * @throws ERR_IO when the file cannot be read; ERR_FORMAT when it belongs to another model; ERR_RANGE when a
   *   number is not finite, a moment is one that no gradients leave or `numSteps` is no whole number; ERR_STATE once closed
   */
  async loadState(path: string, numSteps: number): Promise<void> {
    wholeKind("numSteps", numSteps);
    await this.handle.readState(await readSafetensorsHeader(path), numSteps);
    this.#numSteps = numSteps;
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
