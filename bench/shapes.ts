/** Sizes of the models that benchmarks compare on; `shapes.py` has the same for their peers. */

/** The built-in world's model, and two that people use: Qwen2.5's configs of 0.5B and 7B. Weights are random. */
export const shapes = {
  world: {
    vocabSize: 1500,
    hiddenSize: 128,
    intermediateSize: 384,
    numLayers: 4,
    numHeads: 4,
    numKvHeads: 2,
    maxPosition: 2048,
    tieEmbeddings: true,
  },
  "qwen2.5-0.5b": {
    vocabSize: 151_936,
    hiddenSize: 896,
    intermediateSize: 4864,
    numLayers: 24,
    numHeads: 14,
    numKvHeads: 2,
    maxPosition: 4096,
    tieEmbeddings: true,
  },
  "qwen2.5-7b": {
    vocabSize: 152_064,
    hiddenSize: 3584,
    intermediateSize: 18_944,
    numLayers: 28,
    numHeads: 28,
    numKvHeads: 4,
    maxPosition: 4096,
    tieEmbeddings: false,
  },
} as const;

/** The sizes of that name. */
export function shapeOf(name: string): (typeof shapes)[keyof typeof shapes] {
  if (!Object.hasOwn(shapes, name)) throw new Error(`--shape: expected ${Object.keys(shapes).join(" or ")}`);
  return shapes[name as keyof typeof shapes];
}
