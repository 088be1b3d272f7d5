/** The memory that a training needs, part by part, computed from sizes alone. */

/** What is held. */
export interface MemoryPlan {
  readonly weights: number;
  /** f32 sums. */
  readonly gradients: number;
  /** AdamW's two moments, and f32 weights where the model has other ones. */
  readonly optimiser: number;
  /** A second model with gradients and optimiser; 0 without one. */
  readonly critic: number;
  /** A frozen copy of the weights; 0 without one. */
  readonly reference: number;
  /** Keys and values of the engine, at most. */
  readonly cache: number;
  readonly total: number;
}

/**
 * Bytes of a training, but for what a micro-batch keeps for its backward pass, which grows with its tokens.
 *
 * @param sizes - number of `parameters`, their `dtype`, whether there is a critic and a reference, `cacheBytes` of the
 *   engine
 * @returns bytes, part by part
 * @example
 * const sizes = { parameters: 1e6, dtype: "float32", hasCritic: false, hasReference: true, cacheBytes: 0 } as const;
 * assert.equal(trainingMemory(sizes).total, 20e6);
 */
export function trainingMemory(sizes: {
  readonly parameters: number;
  /** Of an adapter that is trained in place of the weights. @default the weights are trained */
  readonly adapterParameters?: number | undefined;
  readonly dtype: "float32" | "bfloat16";
  readonly hasCritic: boolean;
  readonly hasReference: boolean;
  readonly cacheBytes: number;
}): MemoryPlan {
  const { parameters, adapterParameters, dtype, cacheBytes: cache } = sizes;
  const base = parameters * (dtype === "float32" ? 4 : 2);
  // An adapter is f32; its reference is the model, and its critic another adapter.
  const own = adapterParameters === undefined ? base : adapterParameters * 4;
  const weights = adapterParameters === undefined ? base : base + own;
  const trained = adapterParameters ?? parameters;
  const gradients = trained * 4;
  const optimiser = trained * (dtype === "float32" || adapterParameters !== undefined ? 8 : 12);
  const critic = sizes.hasCritic ? own + gradients + optimiser : 0;
  const reference = sizes.hasReference && adapterParameters === undefined ? base : 0;
  const total = weights + gradients + optimiser + critic + reference + cache;
  return { weights, gradients, optimiser, critic, reference, cache, total };
}
