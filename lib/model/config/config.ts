/** A decoder's shape, and what a new model's leaves out. */
import { checkOptions, countKind, numberIn, type OptionKinds, wholeKind } from "../../base/check-options.ts";
import { usualContext } from "./context.ts";
import { type Architecture, families } from "./families.ts";
import type { LayerType } from "./layers.ts";
import type { RopeScaling } from "./rope.ts";

/** The shape of a decoder-only transformer. */
export interface DecoderConfig {
  readonly architecture: Architecture;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  /** Key and value heads; divides `numHeads`. */
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly rmsNormEps: number;
  readonly ropeTheta: number;
  readonly ropeScaling: RopeScaling;
  /** How many of each head's channels rotary positions turn, from the first. */
  readonly rotaryDim: number;
  /** Base of the unscaled rotary positions of sliding layers, where it is another one (Gemma 3). */
  readonly slidingRopeTheta?: number | undefined;
  /** One of each layer. */
  readonly layerTypes: readonly LayerType[];
  /** Tokens that a token of a sliding layer sees, with itself; 0 where no layer slides. */
  readonly slidingWindow: number;
  /** Longest context, in tokens, the model was made for. */
  readonly maxPosition: number;
  /** Longest sequence that is run, in tokens; see `contextTokens` of {@link LoadOptions}. */
  readonly contextTokens: number;
  /** Bias on the query, key and value projections (Qwen2). */
  readonly qkvBias: boolean;
  /** RMS norm over each head of queries and keys (Qwen3). */
  readonly qkNorm: boolean;
  /** Bias on the query, key, value and output projections. */
  readonly attentionBias: boolean;
  readonly mlpBias: boolean;
  /** The output head is the embedding. */
  readonly tieEmbeddings: boolean;
  /** The gate of the feed-forward block; `gelu` in its form with tanh (Gemma). */
  readonly activation: "silu" | "gelu";
  /** What attention scores are multiplied by. */
  readonly attentionScale: number;
  /** Scores s of attention become c tanh(s / c); 0: none (Gemma 2). */
  readonly attentionSoftcap: number;
  /** The same of the output head's logits. */
  readonly logitSoftcap: number;
  /** What embeddings are multiplied by, rounded to the weights' dtype (Gemma). */
  readonly embeddingScale: number;
  /** What is added to the weights of norms: 1 in Gemma. */
  readonly normOffset: number;
  /** Norms behind attention and feed-forward too (Gemma 2 and 3). */
  readonly postNorms: boolean;
  /** Experts of each feed-forward block; 0: it is one network. */
  readonly numExperts: number;
  /** Experts that a token's router chooses. */
  readonly numChosenExperts: number;
  /** The chosen experts' weights add up to one. */
  readonly hasNormalisedExperts: boolean;
}

/** What {@link decoderConfig} needs; everything else has the architecture's usual value. */
export type DecoderShape = Pick<
  DecoderConfig,
  "vocabSize" | "hiddenSize" | "intermediateSize" | "numLayers" | "numHeads"
> &
  Partial<DecoderConfig>;

const orZero = numberIn({ from: 0 });
const shapeKinds: OptionKinds<DecoderShape> = {
  architecture: Object.keys(families) as Architecture[],
  ...{ vocabSize: countKind, hiddenSize: countKind, intermediateSize: countKind, numLayers: countKind },
  ...{ numHeads: countKind, numKvHeads: countKind, headDim: countKind, maxPosition: countKind },
  ...{ rmsNormEps: numberIn({ above: 0 }), ropeTheta: numberIn({ above: 0 }), ropeScaling: "object" },
  ...{ rotaryDim: countKind, slidingRopeTheta: numberIn({ above: 0 }), layerTypes: "list" },
  ...{ slidingWindow: orZero, contextTokens: countKind },
  ...{ qkvBias: "boolean", qkNorm: "boolean", attentionBias: "boolean", mlpBias: "boolean" },
  ...{ tieEmbeddings: "boolean", activation: ["silu", "gelu"], attentionScale: numberIn({ above: 0 }) },
  ...{ attentionSoftcap: orZero, logitSoftcap: orZero, embeddingScale: numberIn({ above: 0 }) },
  ...{ normOffset: orZero, postNorms: "boolean" },
  ...{ numExperts: wholeKind, numChosenExperts: wholeKind, hasNormalisedExperts: "boolean" },
};

const shapeRequired = ["vocabSize", "hiddenSize", "intermediateSize", "numLayers", "numHeads"];

/**
 * Fills in what a new model's shape leaves out.
 *
 * @param shape the sizes; `architecture` is Qwen2's by default, `numKvHeads` all heads, `headDim` `hiddenSize / numHeads`
 * @returns the whole configuration
 * @throws ERR_ARGUMENT for an unknown key or a missing size; ERR_RANGE for a size that is none
 * @example
 * decoderConfig({ vocabSize: 512, hiddenSize: 64, intermediateSize: 128, numLayers: 2, numHeads: 4 }).headDim; // 16
 */
export function decoderConfig(shape: DecoderShape): DecoderConfig {
  checkOptions("Model.create: shape", shape, shapeKinds, shapeRequired);
  const architecture = shape.architecture ?? "Qwen2ForCausalLM";
  const { ropeTheta, slidingRopeTheta, qkvBias, qkNorm, isGemma, experts } = families[architecture];
  const headDim = shape.headDim ?? Math.floor(shape.hiddenSize / shape.numHeads);
  const ropeScaling = shape.ropeScaling ?? { kind: "none" };
  const maxPosition = shape.maxPosition ?? 32_768;
  return {
    architecture,
    numKvHeads: shape.numHeads,
    headDim,
    rmsNormEps: 1e-6,
    ropeTheta: ropeTheta ?? 10_000,
    ropeScaling,
    rotaryDim: headDim,
    slidingRopeTheta,
    layerTypes: Array.from({ length: shape.numLayers }, () => "full"),
    slidingWindow: 0,
    maxPosition,
    contextTokens: usualContext(ropeScaling, maxPosition),
    qkvBias: qkvBias ?? false,
    qkNorm: qkNorm ?? false,
    attentionBias: false,
    mlpBias: false,
    tieEmbeddings: true,
    activation: isGemma ? "gelu" : "silu",
    attentionScale: headDim ** -0.5,
    attentionSoftcap: 0,
    logitSoftcap: 0,
    embeddingScale: isGemma ? Math.sqrt(shape.hiddenSize) : 1,
    normOffset: isGemma ? 1 : 0,
    postNorms: isGemma ?? false,
    numExperts: 0,
    numChosenExperts: 0,
    hasNormalisedExperts: experts?.isNormalised ?? false,
    ...shape,
  };
}
