/** What a model computes and reads for its tokens, in operations and bytes. */
import type { DecoderConfig } from "../../lib/model/config/config.ts";

/** Tokens that go through a model together. */
export interface TokenWork {
  readonly tokens: number;
  /** Tokens that go through the head as well. */
  readonly rows: number;
  /** Keys that a token sees on average. */
  readonly context: number;
}

/**
 * The largest part of a decoder that one of `ways` devices has under tensor parallelism: its heads, its share of the
 * feed-forward block and of the vocabulary; norms stay whole (Shoeybi et al., Megatron-LM, arXiv 1909.08053). The rule is that
 * of `TensorParallel` (native/model/parallel): of a vocabulary that does not come out even the last device has less.
 *
 * @param config - the whole
 * @param ways - devices that share each product
 * @returns the part; undefined where they are no power of two, or do not divide heads, key heads or feed-forward channels
 */
export function splitConfig(config: DecoderConfig, ways: number): DecoderConfig | undefined {
  const { numHeads, numKvHeads, intermediateSize, vocabSize } = config;
  const isShared = [numHeads, numKvHeads, intermediateSize].every((size) => size % ways === 0);
  if (!isShared || !Number.isInteger(Math.log2(ways))) return undefined;
  return {
    ...config,
    ...{ numHeads: numHeads / ways, numKvHeads: numKvHeads / ways },
    ...{ intermediateSize: intermediateSize / ways, vocabSize: Math.ceil(vocabSize / ways) },
  };
}

function attentionWidths({ numHeads, numKvHeads, headDim }: DecoderConfig): [number, number] {
  return [numHeads * headDim, numKvHeads * headDim];
}

/** Weights of the layers' products that a token goes through: of experts, those that it chooses. */
export function activeWeights(config: DecoderConfig): number {
  const { hiddenSize: d, intermediateSize: i, numLayers, numExperts, numChosenExperts } = config;
  const [q, k] = attentionWidths(config);
  const network = numExperts > 0 ? numChosenExperts * 3 * d * i + numExperts * d : 3 * d * i;
  return numLayers * (2 * d * q + 2 * d * k + network);
}

/** Weights of the head. */
export function headWeights({ vocabSize, hiddenSize }: DecoderConfig): number {
  return vocabSize * hiddenSize;
}

/**
 * Operations of a forward pass: two for each weight that a token goes through, and four for each channel of a query and
 * each key that it sees.
 *
 * @param config - the shape
 * @param work - tokens, rows of the head, keys seen
 * @returns floating point operations
 */
export function forwardFlops(config: DecoderConfig, { tokens, rows, context }: TokenWork): number {
  const [q] = attentionWidths(config);
  const layers = 2 * activeWeights(config) + 4 * config.numLayers * q * context;
  return tokens * layers + rows * 2 * headWeights(config);
}

/** Bytes that the keys and values of a token take in bf16. */
export function cacheBytesPerToken(config: DecoderConfig): number {
  const [, k] = attentionWidths(config);
  return 4 * config.numLayers * k;
}
