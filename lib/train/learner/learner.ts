/** What the policy's trainer and the critic share: AdamW's options, updates and the optimiser's state on disk. */

import type { NativeAdamW, NativeLearner } from "../../base/addon/training.ts";
import { checkOptions, numberIn, type OptionKinds } from "../../base/check-options.ts";
import { readSafetensorsHeader, safetensorsHeader } from "../../model/safetensors.ts";

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
}

const optionKinds: OptionKinds<AdamWOptions> = {
  beta1: numberIn({ from: 0, below: 1 }),
  beta2: numberIn({ from: 0, below: 1 }),
  epsilon: numberIn({ from: 0 }),
  weightDecay: numberIn({ from: 0 }),
  decayVectors: "boolean",
  maxGradNorm: numberIn({ from: 0 }),
};

/**
 * Fills in AdamW's defaults.
 *
 * @param options - what the caller chose
 * @returns every setting
 * @throws ERR_ARGUMENT for an unknown key or a value of another type; ERR_RANGE for a number that cannot be one
 */
export function adamW(options: AdamWOptions = {}): NativeAdamW {
  checkOptions("optimiser", options, optionKinds);
  const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 } = options;
  const { weightDecay = 0.01, decayVectors = false, maxGradNorm = 1 } = options;
  return { beta1, beta2, epsilon, weightDecay, decayVectors, maxGradNorm };
}

const stepKinds = { learningRate: numberIn({ from: 0 }) };

/** Updates of one set of weights from summed gradients. */
export abstract class Learner {
  /** @internal */
  protected readonly handle: NativeLearner;
  #numSteps = 0;

  /** @internal */
  protected constructor(handle: NativeLearner) {
    this.handle = handle;
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
   * Writes the optimiser's state as a safetensors file: moments, and f32 weights where the model has other ones.
   *
   * @param path - the file, written whole or not at all
   * @throws ERR_IO when the file system refuses; ERR_STATE once closed
   */
  async saveState(path: string): Promise<void> {
    await this.handle.writeState(path, safetensorsHeader(this.handle.stateTensors(), "F32"));
  }

  /**
   * Reads what `saveState` wrote.
   *
   * @param path - the file
   * @param numSteps - steps taken when it was written; Adam's bias correction needs them
   * @throws ERR_IO when the file cannot be read; ERR_FORMAT when it belongs to another model; ERR_STATE once closed
   */
  async loadState(path: string, numSteps: number): Promise<void> {
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
