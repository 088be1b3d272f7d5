/** What the parts of a step take on one device: computed from what the device reaches, or measured. */
import type { DecoderConfig } from "../../lib/model/config/config.ts";
import type { Device } from "./machine.ts";
import { activeWeights, cacheBytesPerToken, forwardFlops, headWeights, type TokenWork } from "./work.ts";

/** Sequences that generate together. */
interface DecodeWork {
  readonly sequences: number;
  /** Keys that each sees on average. */
  readonly context: number;
}

/** A micro-batch. */
interface TrainWork extends TokenWork {
  /** Share of the layers whose forward pass runs twice. */
  readonly recomputed: number;
}

/** Seconds of each part, on one device that works alone. */
export interface Parts {
  /** One token of each sequence. */
  decodeSeconds(work: DecodeWork): number;
  /** Prompts and observations on their way into an engine's cache. */
  readSeconds(work: TokenWork): number;
  /** A forward pass over texts that are scored. */
  forwardSeconds(work: TokenWork): number;
  /** Forward and backward of one micro-batch. */
  trainSeconds(work: TrainWork): number;
  /** One update of so many weights. */
  optimiserSeconds(parameters: number): number;
  /** Of one micro-batch, whatever its size. */
  readonly microBatchSeconds: number;
  /** Of one step, whatever its size. */
  readonly stepSeconds: number;
}

/** What of its products' rate a device reaches in each kind of work, and of its memory's in decoding and updates. */
export const utilisation = { train: 0.45, forward: 0.6, memory: 0.85 } as const;

/** Seconds of a kernel's launch, kernels of a layer, and the host's own time of a step that generates. */
export const launches = { kernelSeconds: 2.3e-6, perLayer: 9, hostSeconds: 0.15e-3 } as const;

/** The form of the weights, and of what is trained. */
interface TrainedForm {
  /** Of the weights that a pass reads, on one device. */
  readonly weightBytes: number;
  readonly isAdapter: boolean;
  /** Of AdamW's state, a trained weight. */
  readonly stateBytesPerWeight: number;
}

/**
 * The roofline of a device for a model.
 *
 * A step of decoding reads the weights once and every sequence's keys and values, or is bound by its products:
 * `max(weights / B, 2 P n / F) + n c kv / B`. Training takes three forward passes' operations, of an adapter two, since
 * frozen weights have no gradients (PaLM, arXiv 2204.02311, appendix B, counts the same 6 P a token).
 *
 * @param config - what one device has of the model
 * @param device - what it reaches
 * @param form - of the weights
 * @returns seconds of each part
 */
export function computedParts(config: DecoderConfig, device: Device, form: TrainedForm): Parts {
  const { flops } = device;
  const bytesPerSecond = device.bytesPerSecond * utilisation.memory;
  const launch = config.numLayers * launches.perLayer * launches.kernelSeconds + launches.hostSeconds;
  const perToken = 2 * (activeWeights(config) + headWeights(config));
  // Of experts a batch reads those that its tokens choose; all of them from some sequences on.
  const read = (sequences: number): number => form.weightBytes * expertShare(config, sequences);
  const forwardSeconds = (work: TokenWork): number =>
    forwardFlops(config, work) / (flops * utilisation.forward);
  return {
    decodeSeconds: ({ sequences, context }) =>
      Math.max(read(sequences) / bytesPerSecond, (perToken * sequences) / (flops * utilisation.forward)) +
      (sequences * context * cacheBytesPerToken(config)) / bytesPerSecond +
      launch,
    readSeconds: forwardSeconds,
    forwardSeconds,
    trainSeconds: ({ recomputed, ...work }) =>
      ((form.isAdapter ? 2 : 3) + recomputed) * (forwardFlops(config, work) / (flops * utilisation.train)),
    // Weight and state are read and written, the f32 gradient read and set to zero.
    optimiserSeconds: (parameters) =>
      (parameters * (2 * (2 + form.stateBytesPerWeight) + 8)) / bytesPerSecond,
    microBatchSeconds: 2 * config.numLayers * launches.perLayer * launches.kernelSeconds,
    stepSeconds: 0.1,
  };
}

/** The share of the weights that a batch reads. */
function expertShare({ numExperts, numChosenExperts }: DecoderConfig, sequences: number): number {
  if (numExperts === 0) return 1;
  return 1 - (1 - numChosenExperts / numExperts) ** sequences;
}
