/** The memory that a training needs, part by part, computed from sizes alone. */

import { native } from "../../base/addon/native.ts";
import type { DecoderConfig } from "../../model/config/config.ts";
import type { QuantisedWeights } from "../../model/weights-form.ts";
import type { TrainSequence } from "../batch/packing.ts";
import { activationBytes, type BatchSizes, isGpu, type ModelSizes, numRecomputed } from "./activations.ts";

/** What is held. */
export interface MemoryPlan {
  /** Node.js and libtorch themselves; 0 on a GPU, which has no part of it. */
  readonly process: number;
  readonly weights: number;
  /** f32 sums. */
  readonly gradients: number;
  /** AdamW's two moments, and what bf16 weights lack of f32. */
  readonly optimiser: number;
  /** A second model with gradients and optimiser; 0 without one. */
  readonly critic: number;
  /** A frozen copy of the weights, or of an adapter; 0 without one. */
  readonly reference: number;
  /** What a micro-batch keeps for its backward pass, and what one layer works with. */
  readonly activations: number;
  /** Logits of the rows that the head takes at once, and its copies of them. */
  readonly head: number;
  /** On a GPU: what attention keeps of its splits, and quantised weights that are widened; 0 on the CPU. */
  readonly scratch: number;
  /** What libtorch's allocator of a GPU rounds and keeps; 0 on the CPU. */
  readonly allocator: number;
  /** Keys and values of the engine, at most; given back while activations, head and scratch are there. */
  readonly cache: number;
  /** At once, at most. */
  readonly total: number;
}

/** Levels of ZeRO (Rajbhandari et al., arXiv 1910.02054): ranks share out nothing, the optimiser, gradients too, weights too. */
export const zeroLevels = [0, 1, 2, 3] as const;

/** What ranks share out: 0 nothing, 1 moments and masters, 2 gradients too, 3 weights too. */
export type ZeroLevel = (typeof zeroLevels)[number];

/** How AdamW keeps what it keeps; see its options. */
interface StateForm {
  readonly moments?: "float32" | "8-bit" | undefined;
  readonly masterWeights?: boolean | undefined;
  readonly stateFolder?: string | undefined;
  /** What ranks share out. @default 0 */
  readonly zero?: ZeroLevel | undefined;
  /** How many they are. @default 1 */
  readonly ranks?: number | undefined;
}

/** What a training is made of. */
export interface TrainingSizes extends Omit<ModelSizes, "hasAdapter">, StateForm {
  /** Bytes that are free before anything is loaded: without a bound for activations, half of what is left of them. @default no bound */
  readonly freeBytes?: number | undefined;
  /** How the base of an adapter is quantised. @default in `dtype` */
  readonly weights?: QuantisedWeights | undefined;
  /** Of an adapter that is trained in place of the weights. @default the weights are trained */
  readonly adapterParameters?: number | undefined;
  /** The largest micro-batch. */
  readonly batch: BatchSizes;
  /** Bytes that it may keep for its backward pass. @default no bound */
  readonly activationBytes?: number | undefined;
  /** @default false */
  readonly hasCritic?: boolean;
  /** Whether it is a copy; a new adapter's is its model. @default false */
  readonly hasReference?: boolean;
  /** Of an engine. @default 0 */
  readonly cacheBytes?: number;
  /** Whether weights that ranks share out are whole between updates, for what generates or evaluates. @default true */
  readonly isGathered?: boolean | undefined;
  /** Ranks that share the model, each a slice of every layer; activations are counted as if each made all. @default 1 */
  readonly tensorParallel?: number | undefined;
}

/** Node.js with the native core, before a model is there. */
const processBytes = 180e6;

function matrixSizes({ hiddenSize: d, intermediateSize: i, ...config }: DecoderConfig): number {
  const [q, k] = [config.numHeads * config.headDim, config.numKvHeads * config.headDim];
  // Of experts the router has D weights for each.
  const network = config.numExperts > 0 ? config.numExperts * (3 * d * i + d) : 3 * d * i;
  return config.numLayers * (2 * d * q + 2 * d * k + network);
}

/**
 * Number of a decoder's weights.
 *
 * @param config - its shape
 * @returns how many; a tied head counts once
 * @example
 * assert.equal(numParameters(model.config), model.numParameters);
 */
export function numParameters(config: DecoderConfig): number {
  const { vocabSize, hiddenSize: d, intermediateSize: i, headDim, qkvBias, attentionBias } = config;
  const [q, k] = [config.numHeads * headDim, config.numKvHeads * headDim];
  const biases =
    (qkvBias || attentionBias ? q + 2 * k : 0) + (attentionBias ? d : 0) + (config.mlpBias ? 2 * i + d : 0);
  const norms = (config.postNorms ? 4 : 2) * d + (config.qkNorm ? 2 * headDim : 0);
  const vectors = config.numLayers * (biases + norms) + d;
  return vocabSize * d * (config.tieEmbeddings ? 1 : 2) + matrixSizes(config) + vectors;
}

/** Of a weight with what scales it; see native/ops/quant/quant_weight.h. */
const quantisedBytes = { int8: 1, int4: 18 / 32, nf4: 1 / 2 + 1 / 64 + 4 / (64 * 256) } as const;

/**
 * Bytes of a decoder's weights.
 *
 * @param config - its shape
 * @param dtype - of what is not quantised
 * @param weights - how its projections are quantised, whose head is in int8
 * @returns bytes; a tied head in int8 is a copy of its own
 * @example
 * assert.equal(weightBytes(model.config, "bfloat16"), 2 * model.numParameters);
 */
export function weightBytes(
  config: DecoderConfig,
  dtype: ModelSizes["dtype"],
  weights?: QuantisedWeights,
): number {
  const each = dtype === "float32" ? 4 : 2;
  if (weights === undefined) return numParameters(config) * each;
  const [matrices, head] = [matrixSizes(config), config.vocabSize * config.hiddenSize];
  const plain = numParameters(config) - matrices - (config.tieEmbeddings ? 0 : head);
  return plain * each + matrices * quantisedBytes[weights] + head * quantisedBytes.int8;
}

/**
 * Bytes of what a learner holds besides the weights.
 *
 * @param parameters - number of weights
 * @param dtype - of the weights
 * @param options - how AdamW keeps its moments and masters, which in a file count nothing, and what ranks share out
 * @returns bytes of the f32 gradients, and of AdamW's state
 * @example
 * assert.deepEqual(stateBytes(1e6, "bfloat16"), { gradients: 4e6, optimiser: 10e6 });
 */
export function stateBytes(
  parameters: number,
  dtype: ModelSizes["dtype"],
  { moments = "float32", masterWeights = true, stateFolder, zero = 0, ranks = 1 }: StateForm = {},
): { gradients: number; optimiser: number } {
  // A scale of 4 bytes for every 256 moments.
  const moment = moments === "float32" ? 4 : 1 + 4 / 256;
  const master = dtype === "bfloat16" && masterWeights ? 2 : 0;
  const all = stateFolder === undefined ? parameters * (2 * moment + master) : 0;
  const optimiser = zero >= 1 ? all / ranks : all;
  return { gradients: (parameters * 4) / (zero >= 2 ? ranks : 1), optimiser };
}

/** Weights that ranks who share them out have whole at once: what stands in no layer, a layer, and the one before or next. */
function openParameters(config: DecoderConfig): number {
  const outside = config.vocabSize * config.hiddenSize * (config.tieEmbeddings ? 1 : 2) + config.hiddenSize;
  return outside + (2 * (numParameters(config) - outside)) / config.numLayers;
}

/** What a training of all weights holds: where ranks share it out, their share and what is open at once. */
function sharedBytes(
  config: DecoderConfig,
  base: number,
  sizes: StateForm & Pick<TrainingSizes, "isGathered">,
) {
  const { zero = 0, ranks = 1, isGathered = true } = sizes;
  if (ranks === 1 || zero < 2) return { weights: base, buffers: 0, gathered: 0 };
  const open = openParameters(config);
  const buffers = 4 * open;
  if (zero === 2) return { weights: base, buffers, gathered: 0 };
  const openBytes = (base / numParameters(config)) * open;
  const gathered = isGathered ? Math.max(0, base - openBytes) : 0;
  return { weights: base / ranks + openBytes, buffers, gathered };
}

/**
 * The largest micro-batch that sequences can make, for {@link trainingMemory}.
 *
 * @param sequences - all that are trained on
 * @param options - `batchSize` sequences of one step, `maxTokens` of one micro-batch
 * @returns its tokens, and the rows among them by the share of all
 * @example
 * const sequences = [{ tokens: new Int32Array(60), rows: new Int32Array(20) }];
 * assert.deepEqual(largestBatch(sequences, { batchSize: 8, maxTokens: 4096 }), { tokens: 60, rows: 20 });
 */
export function largestBatch(
  sequences: readonly Pick<TrainSequence, "tokens" | "rows">[],
  { batchSize, maxTokens }: { readonly batchSize: number; readonly maxTokens: number },
): BatchSizes {
  const lengths = sequences.map(({ tokens }) => tokens.length).sort((a, b) => b - a);
  const [longest = 0, step] = [lengths[0], lengths.slice(0, batchSize).reduce((sum, one) => sum + one, 0)];
  const tokens = Math.max(longest, Math.min(maxTokens, step));
  const all = lengths.reduce((sum, one) => sum + one, 0);
  const rows = sequences.reduce((sum, one) => sum + one.rows.length, 0);
  return { tokens, rows: all === 0 ? 0 : Math.ceil((tokens * rows) / all) };
}

/**
 * Logits in f32, whose gradient takes their place; for a quantised head the CPU rounds it beside them. And what attention
 * and quantised products of a GPU work in.
 */
function kernelBytes({ config, weights, batch, device = "cpu" }: TrainingSizes) {
  const { numKvHeads, headDim, vocabSize } = config;
  const isQuantised = weights !== undefined;
  const sizes = { numKvHeads, headDim, vocabSize, ...batch, isQuantised };
  const { logits, attention, weights: widened } = native().trainingScratch(device, sizes);
  return { head: device === "cpu" && isQuantised ? 1.5 * logits : logits, scratch: attention + widened };
}

/**
 * Gradients of the widest activations while a layer goes backward: three of I, two of D, and roundings of them; on a GPU
 * those of I have 16 bits. Experts go one after another, each with its share of the rows; two of D are of all chosen rows at once.
 */
function workBytes({ config, dtype, device }: ModelSizes, { tokens }: BatchSizes): number {
  const { hiddenSize: d, intermediateSize: i, numExperts, numChosenExperts } = config;
  const share = numExperts > 0 ? numChosenExperts / numExperts : 1;
  const gathered = numExperts > 0 ? 8 * d * numChosenExperts : 0;
  if (isGpu(device)) return tokens * (gathered + share * 6 * i + 12 * d);
  return tokens * (gathered + share * (12 * i + (dtype === "float32" ? 0 : 4 * i + 2 * d)) + 8 * d);
}

/**
 * What libtorch's allocator takes beyond what it is asked for: blocks of 512 bytes in segments of 2 MB, of 20 MB from 1 MB
 * on, of multiples of 2 MB from 10 MB on (c10/core/CachingDeviceAllocator). A bound for decoders of 0.5B to 70B.
 */
const allocatorBytes = (held: number): number => 2 ** 28 + held / 100;

/**
 * Bytes of a training at its peak.
 *
 * @param sizes - of model, optimiser and micro-batch, and what else there is
 * @returns bytes, part by part
 * @example
 * const sizes = { config: model.config, dtype: "float32", batch: { tokens: 512, rows: 153 } } as const;
 * assert.equal(trainingMemory(sizes).gradients, 4 * model.numParameters);
 */
export function trainingMemory(sizes: TrainingSizes): MemoryPlan {
  const { config, dtype, batch, cacheBytes: cache = 0, tensorParallel: slices = 1 } = sizes;
  const parameters = numParameters(config) / slices;
  const base = weightBytes(config, dtype, sizes.weights) / slices;
  const adapterParameters =
    sizes.adapterParameters === undefined ? undefined : sizes.adapterParameters / slices;
  const isAdapter = adapterParameters !== undefined;
  const { device } = sizes;
  const model = { config, dtype, device, hasAdapter: isAdapter };
  // An adapter is f32, with a bf16 copy on a GPU; its reference and its critic are adapters.
  const own = isAdapter ? adapterParameters * (isGpu(device) ? 6 : 4) : base;
  const shared = isAdapter
    ? { weights: base + own, buffers: 0, gathered: 0 }
    : sharedBytes(config, base, sizes);
  const { weights } = shared;
  const states = isAdapter
    ? stateBytes(adapterParameters, "float32", sizes)
    : stateBytes(parameters, dtype, sizes);
  const { optimiser } = states;
  const gradients = states.gradients + shared.buffers;
  const critic = sizes.hasCritic === true ? own + gradients + optimiser : 0;
  const reference = sizes.hasReference === true ? own : 0;
  const ownProcess = isGpu(device) ? 0 : processBytes;
  const held = ownProcess + weights + gradients + optimiser + critic + reference;
  const allocator = isGpu(device) ? allocatorBytes(held) : 0;
  const recomputed = numRecomputed(model, batch, activationBudget(sizes, held + allocator));
  const activations = activationBytes(model, batch, recomputed) + workBytes(model, batch);
  const { head: wholeHead, scratch } = kernelBytes(sizes);
  const head = wholeHead / slices;
  const total = held + allocator + Math.max(activations + head + scratch, cache + shared.gathered);
  const parts = { process: ownProcess, weights, gradients, optimiser, critic, reference };
  return { ...parts, activations, head, scratch, allocator, cache, total };
}

/** What a micro-batch may keep: as the learner decides it (lib/train/learner). */
function activationBudget({ activationBytes: given, freeBytes }: TrainingSizes, held: number): number {
  if (given !== undefined || freeBytes === undefined) return given ?? Number.POSITIVE_INFINITY;
  return Math.max(0, freeBytes - held) / 2;
}
