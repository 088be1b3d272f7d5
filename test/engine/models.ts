/** Small random models, vocabularies and prompts for the engine's tests. */
import assert from "node:assert/strict";
import type { Engine } from "../../lib/engine/engine.ts";
import type { GenerateOptions, Span } from "../../lib/engine/span.ts";
import type { TokenTable } from "../../lib/engine/vocabulary.ts";
import { Model } from "../../lib/model/model.ts";
import type { QuantisedWeights } from "../../lib/model/weights-form.ts";

const vocabSize = 97;

/** A decoder small enough to run hundreds of steps a second; large weights make its distributions uneven. */
export function tinyModel({
  seed = 1,
  maxPosition = 512,
  dtype = "float32",
  weights,
  numTokens = vocabSize,
}: {
  readonly seed?: number;
  readonly maxPosition?: number;
  readonly dtype?: "float32" | "bfloat16";
  readonly weights?: QuantisedWeights;
  readonly numTokens?: number;
} = {}): Promise<Model> {
  const shape = {
    vocabSize: numTokens,
    hiddenSize: 32,
    intermediateSize: 64,
    numLayers: 2,
    numHeads: 4,
    numKvHeads: 2,
    maxPosition,
    qkvBias: true,
    tieEmbeddings: true,
  };
  return Model.create(shape, { seed, std: 0.3, dtype, weights });
}

/** Token i stands for the character 32 + i, the last one for the end of a text. */
export const letters: TokenTable = {
  vocabSize,
  eosIds: [vocabSize - 1],
  tokenBytes: (id) => Uint8Array.of(id === vocabSize - 1 ? 0 : 32 + id),
  isSpecial: (id) => id === vocabSize - 1,
};

/** What the letters spell. */
export function spell(ids: Iterable<number>): string {
  return Buffer.concat([...ids].map((id) => letters.tokenBytes(id))).toString("latin1");
}

/** `length` tokens that depend on `salt`; none is the end of a text. */
export function prompt(length: number, salt = 0): Int32Array {
  return Int32Array.from({ length }, (_, i) => (i * 37 + salt * 11 + 5) % (vocabSize - 1));
}

/** Opens a sequence, samples one span and closes the sequence. */
export async function generateOnce(
  engine: Engine,
  ids: Int32Array,
  { seed = 0, ...options }: GenerateOptions & { readonly seed?: number },
): Promise<Span> {
  const sequence = engine.open(ids, { seed });
  try {
    return await sequence.generate(options);
  } finally {
    sequence.close();
  }
}

/** Spans, or values that hold some, are equal but for what was cached before each. */
export function sameSpans(actual: unknown, expected: unknown): void {
  assert.deepEqual(withoutReuse(actual), withoutReuse(expected));
}

function withoutReuse(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutReuse);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  const kept = Object.entries(value).filter(([key]) => key !== "numReused");
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutReuse(each)]));
}

/** What a native engine is started with where a test speaks to it without `Engine`. */
export const nativeEngineOptions = {
  numBlocks: 20,
  cacheBytes: 0,
  blockTokens: 16,
  maxTokens: 200,
  maxBatchTokens: 64,
  maxBatchRows: 8,
  promptLookup: false,
  cacheDtype: "model",
} as const;
