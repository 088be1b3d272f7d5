/** The model and the steps that the plan is checked on. */
import type { TrainSequence } from "../../lib/train/batch/packing.ts";

/** 11 million weights: large enough that products rule, small enough that a step of one core takes seconds. */
export const shape = {
  ...{ vocabSize: 4096, hiddenSize: 320, intermediateSize: 1024, numLayers: 6, numHeads: 5, numKvHeads: 5 },
  ...{ maxPosition: 2048, tieEmbeddings: true },
};

/** Four times the layers: what grows with the weights alone is told from what does not. */
export const deep = { ...shape, numLayers: 24 };

/** A step of SFT. */
export const sft = { texts: 16, length: 128 };

/** The same with little work for its weights, so that reductions count. */
export const small = { texts: 4, length: 128 };

/** A step of reinforcement learning with one search. */
export const rl = { questions: 8, samples: 4, prompt: 48, turn: 24, observation: 48, searchMs: 300 };

/** One of the steps that are predicted and measured. */
export interface CheckedStep {
  /** Texts of SFT; otherwise the step is one of reinforcement learning. */
  readonly texts?: typeof sft;
  readonly rollouts?: typeof rl;
  readonly zero: 0 | 1 | 2 | 3;
}

const long = { texts: 20, length: 200 };
const wide = { questions: 12, samples: 6, prompt: 32, turn: 40, observation: 64, searchMs: 200 };

/** The steps by which the simulation was made what it is. */
export const known: Readonly<Record<string, CheckedStep>> = {
  sft: { texts: sft, zero: 0 },
  small: { texts: small, zero: 0 },
  rl: { rollouts: rl, zero: 0 },
};

/** Steps of other sizes and levels of ZeRO, which had no part in that. */
export const heldOut: Readonly<Record<string, CheckedStep>> = {
  long: { texts: long, zero: 0 },
  wide: { rollouts: wide, zero: 0 },
  "long, zero 1": { texts: long, zero: 1 },
  "long, zero 2": { texts: long, zero: 2 },
  "long, zero 3": { texts: long, zero: 3 },
  "wide, zero 1": { rollouts: wide, zero: 1 },
};

/** Ids that follow from two numbers. */
export function ids(length: number, salt: number): Int32Array {
  return Int32Array.from({ length }, (_, t) => (t * 31 + salt * 577 + 3) % shape.vocabSize);
}

/** Texts whose every token but the first has a loss. */
export function textsOf({ texts, length }: { texts: number; length: number }): TrainSequence[] {
  const rows = Int32Array.from({ length: length - 1 }, (_, t) => t);
  const weights = new Float32Array(length - 1).fill(1 / (texts * (length - 1)));
  return Array.from({ length: texts }, (_, s) => ({ tokens: ids(length, s), rows, weights }));
}

/** Mini-batches of a step of {@link rl}. */
export const miniBatches = 2;

/** Texts as in a mini-batch of {@link rl}: samples of a question begin alike, and what the model wrote has a loss. */
export function samplesOf(questions: number): TrainSequence[] {
  const { prompt, turn, observation } = rl;
  const samples = rl.samples / miniBatches;
  const written = (from: number): number[] => Array.from({ length: turn }, (_, t) => from + t - 1);
  const rows = Int32Array.from([...written(prompt), ...written(prompt + turn + observation)]);
  const each = (value: number): Float32Array => new Float32Array(rows.length).fill(value);
  return Array.from({ length: questions * samples }, (_, s) => {
    const own = ids(2 * turn + observation, 100 + s);
    const tokens = Int32Array.from([...ids(prompt, Math.floor(s / samples)), ...own]);
    const values = { advantages: each((s % 2) - 0.5), oldLogprobs: each(-8), weights: each(1 / rows.length) };
    return { tokens, rows, ...values };
  });
}

/** The fewest of some seconds: what other work of the machine adds is never negative. */
export function best(values: readonly number[]): number {
  return Math.min(...values);
}
