/** What the policy's trainer and the critic share: updates, and the optimiser's state on disk. */

import { native } from "../../base/addon/native.ts";
import type { NativeBatch, NativeLearner } from "../../base/addon/training.ts";
import { checkOptions, numberIn, wholeKind } from "../../base/check-options.ts";
import { codeOf } from "../../base/errors.ts";
import type { ProcessGroup } from "../../comm/process-group.ts";
import { Adapter } from "../../model/adapter.ts";
import { splitFused } from "../../model/fused.ts";
import { findWeights } from "../../model/model-folder.ts";
import { type Policy, policyParts } from "../../model/policy.ts";
import { readSafetensorsHeader, safetensorsHeader } from "../../model/safetensors.ts";
import { isGpu, type ModelSizes, numRecomputed } from "../memory/activations.ts";
import { numParameters, stateBytes } from "../memory/plan.ts";
import { adamW, type LearnerOptions } from "./learner-options.ts";
import { orFail, type Sharing } from "./shares.ts";
import { partPath, partsOn } from "./state-files.ts";

/** Options whose bound of activations is decided. @internal */
export interface SettledOptions extends LearnerOptions {
  readonly activationBytes: number;
}

/**
 * What a micro-batch may keep: half of what is left beyond gradients and optimiser. Of a GPU they are taken when a learner
 * is opened, on the CPU when they are first touched.
 *
 * @internal
 */
export async function activationBudget(policy: Policy, options: LearnerOptions): Promise<number> {
  if (options.activationBytes !== undefined) return options.activationBytes;
  const { model } = policyParts(policy, "learner");
  const { device } = model;
  if (isGpu(device)) return (await native().gpuMemory(device)).free / 2;
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
  protected constructor(handle: NativeLearner, policy: Policy, options: SettledOptions) {
    this.handle = handle;
    this.#policy = policy;
    const { model } = policyParts(policy, "learner");
    const sizes = { config: model.config, dtype: model.dtype, hasAdapter: policy !== model };
    this.#sizes = { ...sizes, device: model.device };
    this.#activationBytes = options.activationBytes;
    const { stateFolder: _, ...optimizer } = adamW(options);
    this.alike = { ...sizes, numParameters: policy.numParameters, optimizer };
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
