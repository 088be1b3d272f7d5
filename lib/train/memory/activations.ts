/** What a micro-batch keeps for its backward pass, and how many layers make it again within a budget. */
import type { DecoderConfig } from "../../model/config/config.ts";

/** A model as the formulas know it. */
export interface ModelSizes {
  readonly config: DecoderConfig;
  readonly dtype: "float32" | "bfloat16";
  /** Whether an adapter is trained, which reads each product's x in f32, in place of the weights. @default false */
  readonly hasAdapter?: boolean;
  /** Where it runs: a GPU keeps what enters and leaves products in 16 bits. @default "cpu" */
  readonly device?: string | undefined;
}

/** Tokens of a micro-batch, and the rows of it that the loss looks at. */
export interface BatchSizes {
  readonly tokens: number;
  readonly rows: number;
}

interface LayerBytes {
  /** Kept for each token. */
  readonly attention: number;
  /** Of the last layer, kept for its rows alone. */
  readonly rest: number;
}

/**
 * Bytes that one layer keeps for each token on a GPU, letters as below. An adapter reads the x that the weights would.
 *
 * - both norms: their input, 4 D each, and its scale;
 * - products: x for q, k, v and for gate and up, 2 D each; for down, 2 I; for o the attention's own output;
 * - attention: query, keys and values, 2 Q + 4 K, output and one sum a head, 2 Q + 4 H; with normalised queries and keys
 *   their input too, 2 Q + 2 K;
 * - the gate: both its inputs, 4 I;
 * - norms behind attention and network, of a family that has them: 4 D each.
 */
function gpuLayerBytes({ config }: ModelSizes): LayerBytes {
  const { hiddenSize: d, intermediateSize: i, numHeads: h, qkNorm, postNorms } = config;
  const [q, k] = [h * config.headDim, config.numKvHeads * config.headDim];
  const norm = 4 * d + 4 + 2 * d;
  const attention = norm + 2 * (q + 2 * k) + 2 * q + 4 * h + (qkNorm ? 2 * (q + k) : 0);
  const network = config.numExperts > 0 ? expertBytes({ config, dtype: "bfloat16" }, false) : 6 * i;
  return { attention, rest: norm + network + (postNorms ? 8 * d : 0) };
}

/**
 * Bytes that one layer keeps for each token on the CPU. With D hidden_size, Q and K the widths of all query and of all key heads,
 * I intermediate_size, H heads; activations are f32, products of bfloat16 weights keep their own copy of x in bfloat16.
 *
 * - both norms: their input, 4 D each;
 * - products: x for q, k, v, then for gate and up (float32 4 D + 4 D shared; bfloat16 2 D each, 10 D), for o (the
 *   attention's own output; 2 Q) and for down (4 I; 2 I);
 * - attention: query, keys and values (float32 4 Q + 8 K; bfloat16 half of that), output and one sum a head, 4 Q + 4 H; with
 *   normalised queries and keys their input too, 4 Q + 4 K;
 * - the gate: both its inputs, 8 I.
 *
 * With experts see {@link expertBytes}.
 */
function cpuLayerBytes(model: ModelSizes): LayerBytes {
  const { config, dtype, hasAdapter = false } = model;
  const { hiddenSize: d, intermediateSize: i, numHeads: h, qkNorm } = config;
  const [q, k] = [h * config.headDim, config.numKvHeads * config.headDim];
  const isWide = dtype === "float32" || hasAdapter;
  const seen = (dtype === "float32" ? 4 : 2) * (q + 2 * k);
  const attention = 4 * d + (isWide ? 4 * d : 6 * d) + seen + (qkNorm ? 4 * (q + k) : 0);
  // The last layer has these for its rows alone.
  const network = config.numExperts > 0 ? expertBytes(model, isWide) : 4 * d + (isWide ? 12 : 10) * i;
  const rest = 4 * d + (isWide ? 4 * q : 6 * q) + 4 * h + network;
  return { attention, rest };
}

const layerBytes = (model: ModelSizes): LayerBytes =>
  isGpu(model.device) ? gpuLayerBytes(model) : cpuLayerBytes(model);

/** Whether a device is one. @param device - its name; the processor without one @returns true for all but the processor */
export function isGpu(device: string | undefined): boolean {
  return device !== undefined && device !== "cpu";
}

/**
 * Bytes that a layer's experts keep for each token, A of the E being chosen:
 *
 * - the router: its x (4 D; 2 D), probabilities (4 E), and of each chosen one its weight before and after they are made
 *   to sum to 1 (8) and the places from and to which its row is moved (24);
 * - of each chosen expert what the network of a layer keeps, gate and up reading rows that are gathered for it (4 D in
 *   float32, 2 D each in bfloat16), and its result, 4 D.
 */
function expertBytes({ config }: ModelSizes, isWide: boolean): number {
  const { hiddenSize: d, intermediateSize: i, numExperts, numChosenExperts } = config;
  const chosen = 4 * d + (isWide ? 12 : 10) * i + 4 * d + 32;
  return (isWide ? 4 : 2) * d + 4 * numExperts + numChosenExperts * chosen;
}

/**
 * Bytes that a micro-batch keeps for its backward pass when the first `recomputed` layers keep their input alone.
 *
 * @param model - config and dtype
 * @param batch - tokens and rows
 * @param recomputed - layers; below the model's number of layers
 * @returns bytes at most at once: the inputs, and the layers that keep all or the one that is made again
 * @example
 * const bytes = activationBytes(model, { tokens: 512, rows: 153 }, 0);
 */
export function activationBytes(model: ModelSizes, { tokens, rows }: BatchSizes, recomputed: number): number {
  const { numLayers, hiddenSize } = model.config;
  const { attention, rest } = layerBytes(model);
  const [layer, last] = [tokens * (attention + rest), tokens * attention + rows * rest];
  const kept = (numLayers - 1 - recomputed) * layer + last;
  return recomputed * tokens * 4 * hiddenSize + (recomputed > 0 ? Math.max(kept, layer) : kept);
}

/**
 * How many layers make their activations again so that a micro-batch keeps to a budget; the last layer always keeps
 * its own, since its backward pass is the first.
 *
 * @param model - config and dtype
 * @param batch - tokens and rows
 * @param budget - bytes
 * @returns the least number of layers; all but one where no number is enough
 * @example
 * assert.equal(numRecomputed(model, { tokens: 8, rows: 4 }, 1e12), 0);
 * assert.equal(numRecomputed(model, { tokens: 8, rows: 4 }, 0), model.config.numLayers - 1);
 */
export function numRecomputed(model: ModelSizes, batch: BatchSizes, budget: number): number {
  const most = model.config.numLayers - 1;
  let count = 0;
  while (count < most && activationBytes(model, batch, count) > budget) count += 1;
  return count;
}
