/** What the tests of vector indexes share: random vectors, indexes of them, and the truth by plain arithmetic. */
import { VectorIndex, type VectorIndexKind, type VectorIndexOptions } from "../../lib/search/vector-index.ts";
import { randomVectors } from "./people.ts";

export const dim = 64;
export const count = 4_000;
export const numQueries = 100;
export const topK = 10;
export const vectors = randomVectors(count, dim, 1);
export const queries = randomVectors(numQueries, dim, 2);

export async function built(
  kind: VectorIndexKind,
  options: Partial<VectorIndexOptions> = {},
  data = vectors,
): Promise<VectorIndex> {
  const width = options.dim ?? dim;
  const index = VectorIndex.create(kind, { dim: width, capacity: data.length / width, ...options });
  const batch = 4096 * width;
  for (let at = 0; at < data.length; at += batch) await index.add(data.subarray(at, at + batch));
  return index;
}

export function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}

/** The true scores of one query over all vectors. */
export function trueScores(
  query: Float32Array,
  metric: "cos" | "ip",
  data: Float32Array,
  width: number,
): number[] {
  const length = (v: Float32Array): number => (metric === "cos" ? Math.sqrt(dot(v, v)) : 1);
  return Array.from({ length: data.length / width }, (_, row) => {
    const vector = data.subarray(row * width, (row + 1) * width);
    return dot(query, vector) / (length(query) * length(vector));
  });
}

/** The share of `expected`'s ids that `actual` has too, query by query. */
export function recall(actual: Int32Array, expected: Int32Array): number {
  let found = 0;
  for (let at = 0; at < expected.length; at += topK) {
    const truth = new Set(expected.subarray(at, at + topK));
    found += actual.subarray(at, at + topK).filter((id) => truth.has(id)).length;
  }
  return found / expected.length;
}
