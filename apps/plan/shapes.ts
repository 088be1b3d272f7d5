/** The sizes of models that people train, so that a training can be planned before anything is downloaded. */

import { type DecoderConfig, type DecoderShape, decoderConfig } from "../../lib/model/config/config.ts";
import type { Architecture } from "../../lib/model/config/families.ts";

/**
 * D, I, layers, heads, key heads, vocabulary; then what is not usual: width of a head, and experts with those of a token.
 * Source: config.json of each model on huggingface.co (Qwen/<name>, meta-llama/<name>).
 */
interface Row {
  readonly sizes: readonly [number, number, number, number, number, number];
  readonly headDim?: number;
  readonly experts?: readonly [number, number];
  /** Whether the head is a matrix of its own. */
  readonly isUntied?: boolean;
}

type Rows = Readonly<Record<string, Row>>;

const qwen25: Rows = {
  "qwen2.5-0.5b": { sizes: [896, 4864, 24, 14, 2, 151_936] },
  "qwen2.5-1.5b": { sizes: [1536, 8960, 28, 12, 2, 151_936] },
  "qwen2.5-3b": { sizes: [2048, 11_008, 36, 16, 2, 151_936] },
  "qwen2.5-7b": { sizes: [3584, 18_944, 28, 28, 4, 152_064], isUntied: true },
  "qwen2.5-14b": { sizes: [5120, 13_824, 48, 40, 8, 152_064], isUntied: true },
  "qwen2.5-32b": { sizes: [5120, 27_648, 64, 40, 8, 152_064], isUntied: true },
  "qwen2.5-72b": { sizes: [8192, 29_568, 80, 64, 8, 152_064], isUntied: true },
};

const qwen3: Rows = {
  "qwen3-0.6b": { sizes: [1024, 3072, 28, 16, 8, 151_936], headDim: 128 },
  "qwen3-1.7b": { sizes: [2048, 6144, 28, 16, 8, 151_936], headDim: 128 },
  "qwen3-4b": { sizes: [2560, 9728, 36, 32, 8, 151_936], headDim: 128 },
  "qwen3-8b": { sizes: [4096, 12_288, 36, 32, 8, 151_936], headDim: 128, isUntied: true },
  "qwen3-14b": { sizes: [5120, 17_408, 40, 40, 8, 151_936], headDim: 128, isUntied: true },
  "qwen3-32b": { sizes: [5120, 25_600, 64, 64, 8, 151_936], headDim: 128, isUntied: true },
};

const qwen3Moe: Rows = {
  "qwen3-30b-a3b": {
    sizes: [2048, 768, 48, 32, 4, 151_936],
    ...{ headDim: 128, experts: [128, 8], isUntied: true },
  },
};

const llama: Rows = {
  "llama-3.2-1b": { sizes: [2048, 8192, 16, 32, 8, 128_256] },
  "llama-3.2-3b": { sizes: [3072, 8192, 28, 24, 8, 128_256] },
  "llama-3.1-8b": { sizes: [4096, 14_336, 32, 32, 8, 128_256], isUntied: true },
  "llama-3.1-70b": { sizes: [8192, 28_672, 80, 64, 8, 128_256], isUntied: true },
};

const families: readonly (readonly [Architecture, Rows])[] = [
  ["Qwen2ForCausalLM", qwen25],
  ["Qwen3ForCausalLM", qwen3],
  ["Qwen3MoeForCausalLM", qwen3Moe],
  ["LlamaForCausalLM", llama],
];

function shapeOf(
  architecture: Architecture,
  { sizes, headDim, experts, isUntied = false }: Row,
): DecoderShape {
  const [hiddenSize, intermediateSize, numLayers, numHeads, numKvHeads, vocabSize] = sizes;
  return {
    ...{ architecture, hiddenSize, intermediateSize, numLayers, numHeads, numKvHeads, vocabSize },
    headDim: headDim ?? hiddenSize / numHeads,
    tieEmbeddings: !isUntied,
    ...(experts === undefined ? {} : { numExperts: experts[0], numChosenExperts: experts[1] }),
  };
}

const rows = new Map(
  families.flatMap(([architecture, models]) =>
    Object.entries(models).map(([name, row]) => [name, { architecture, row }] as const),
  ),
);

/** Names of {@link knownConfig}. */
export const knownNames: readonly string[] = [...rows.keys()];

/**
 * The shape of a published model.
 *
 * @param name - such as `qwen2.5-7b`, in any case
 * @returns its shape; undefined for a name that is not known
 */
export function knownConfig(name: string): DecoderConfig | undefined {
  const known = rows.get(name.toLowerCase());
  return known === undefined ? undefined : decoderConfig(shapeOf(known.architecture, known.row));
}
