/**
 * Vectors for benchmarks that are as hard as text embeddings: a mixture of 2,000 centres, around each of which vectors
 * spread in 64 directions that all share.
 */
import { Dice } from "../../lib/base/random.ts";

const numCentres = 2000;
const intrinsicDim = 64;
/** How far vectors lie from their centre, against the centres' own length of one. */
const spread = 0.6;

/** Draws from the standard normal distribution, two at a time (Box and Muller). */
function fillNormal(values: Float32Array, dice: Dice): void {
  for (let i = 0; i < values.length; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - dice.next()));
    const angle = 2 * Math.PI * dice.next();
    values[i] = radius * Math.cos(angle);
    if (i + 1 < values.length) values[i + 1] = radius * Math.sin(angle);
  }
}

/** Vectors of one mixture. */
export interface Mixture {
  readonly dim: number;
  /** f32 [count, dim] of a seed; different seeds share centres and directions. */
  draw(count: number, seed: number): Float32Array;
}

/** The mixture of a width. */
export function mixtureOf(dim: number): Mixture {
  const centres = new Float32Array(numCentres * intrinsicDim);
  fillNormal(centres, new Dice(17, 1));
  const directions = new Float32Array(intrinsicDim * dim);
  fillNormal(directions, new Dice(17, 2));
  const draw = (count: number, seed: number): Float32Array => {
    const dice = new Dice(17, 3, seed);
    const vectors = new Float32Array(count * dim);
    const inner = new Float32Array(intrinsicDim);
    for (let row = 0; row < count; row += 1) {
      fillNormal(inner, dice);
      const centre = dice.below(numCentres) * intrinsicDim;
      const vector = vectors.subarray(row * dim, (row + 1) * dim);
      for (let i = 0; i < intrinsicDim; i += 1) {
        const weight = (centres[centre + i] ?? 0) + spread * (inner[i] ?? 0);
        const direction = directions.subarray(i * dim, (i + 1) * dim);
        for (let d = 0; d < dim; d += 1) vector[d] = (vector[d] ?? 0) + weight * (direction[d] ?? 0);
      }
    }
    return vectors;
  };
  return { dim, draw };
}
