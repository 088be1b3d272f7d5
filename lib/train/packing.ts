/** Sequences as the trainer sees them, and how they are packed into micro-batches without padding. */
import type { NativeBatch } from "../base/addon.ts";
import { SeekError } from "../base/errors.ts";

/**
 * Tokens to train on. `rows` are the positions whose next token the loss looks at; every other array has one entry per
 * row, `[R]`, so nothing that belongs to an observation token can reach the loss (law 2).
 */
export interface TrainSequence {
  /** Ids `[T]`. */
  readonly tokens: Int32Array;
  /** Positions `[R]`, increasing, each below `T - 1`; row `r` predicts `tokens[rows[r] + 1]`. */
  readonly rows: Int32Array;
  /** Share of each row in the loss of the whole step; the normaliser is inside. */
  readonly weights?: Float32Array;
  readonly advantages?: Float32Array;
  /** Log-probabilities under the policy the update started from. @default the current ones, so every ratio is 1 */
  readonly oldLogprobs?: Float32Array;
  /** Log-probabilities as the engine reported them; used only to measure the gap (law 4). */
  readonly rolloutLogprobs?: Float32Array;
  readonly referenceLogprobs?: Float32Array;
  /** What the critic should predict at each row. */
  readonly returns?: Float32Array;
  /** What it predicted before the update. */
  readonly oldValues?: Float32Array;
}

const rowArrays = [
  "weights",
  "advantages",
  "oldLogprobs",
  "rolloutLogprobs",
  "referenceLogprobs",
  "returns",
  "oldValues",
] as const;

type RowArray = (typeof rowArrays)[number];

function concatenate(name: RowArray, sequences: readonly TrainSequence[], numRows: number): Float32Array {
  const all_R = new Float32Array(numRows);
  let offset = 0;
  for (const [i, sequence] of sequences.entries()) {
    const values_R = sequence[name];
    if (values_R?.length !== sequence.rows.length) {
      const got = values_R === undefined ? "none" : String(values_R.length);
      throw new SeekError(
        "ERR_SHAPE",
        `${name} of sequence ${i}: expected ${sequence.rows.length} numbers, got ${got}`,
      );
    }
    all_R.set(values_R, offset);
    offset += values_R.length;
  }
  return all_R;
}

function packIds(sequences: readonly TrainSequence[], numRows: number) {
  const numTokens = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const tokens = new Int32Array(numTokens);
  const spanStarts = new Int32Array(sequences.length + 1);
  const rows = new Int32Array(numRows);
  const sequenceOf = new Int32Array(numRows);
  let token = 0;
  let row = 0;
  for (const [i, sequence] of sequences.entries()) {
    tokens.set(sequence.tokens, token);
    for (const position of sequence.rows) {
      rows[row] = token + position;
      sequenceOf[row] = i;
      row += 1;
    }
    token += sequence.tokens.length;
    spanStarts[i + 1] = token;
  }
  return { tokens, spanStarts, rows, sequences: sequenceOf };
}

/**
 * Lays sequences end to end. A per-row array must be on all of them or on none.
 *
 * @param sequences - at least one, each with at least one row
 * @returns the arrays the native trainer takes
 * @throws ERR_SHAPE when a per-row array is missing somewhere or has another length than `rows`
 * @example
 * const batch = packSequences([{ tokens: Int32Array.of(1, 2, 3), rows: Int32Array.of(1) }]);
 * assert.deepEqual([...batch.spanStarts], [0, 3]);
 */
export function packSequences(sequences: readonly TrainSequence[]): NativeBatch {
  const numRows = sequences.reduce((sum, { rows }) => sum + rows.length, 0);
  const batch: { -readonly [name in RowArray]?: Float32Array } = {};
  for (const name of rowArrays) {
    const isPresent = sequences.some((sequence) => sequence[name] !== undefined);
    if (isPresent) batch[name] = concatenate(name, sequences, numRows);
  }
  return { ...packIds(sequences, numRows), ...batch };
}

/**
 * Forms micro-batches of at most `maxTokens` tokens: longest sequence first, each into the fullest micro-batch that
 * still has room. A longer sequence gets a micro-batch of its own. The loss does not depend on the result (law 3).
 *
 * @param lengths - tokens of each sequence
 * @param maxTokens - budget of one micro-batch
 * @returns indices into `lengths`, one list per micro-batch
 * @example
 * assert.deepEqual(microBatches([2, 5, 3], 5), [[1], [2, 0]]);
 */
export function microBatches(lengths: readonly number[], maxTokens: number): number[][] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const batches: { indices: number[]; room: number }[] = [];
  for (const index of order) {
    const length = lengths[index]!;
    let best: (typeof batches)[number] | undefined;
    for (const batch of batches) {
      if (batch.room >= length && (best === undefined || batch.room < best.room)) best = batch;
    }
    if (best === undefined) {
      best = { indices: [], room: maxTokens };
      batches.push(best);
    }
    best.indices.push(index);
    best.room -= length;
  }
  return batches.map(({ indices }) => indices);
}

/** Runs `work` on each micro-batch in turn; sequences without rows have nothing to say and are left out. */
export async function forEachMicroBatch(
  sequences: readonly TrainSequence[],
  maxTokens: number,
  work: (batch: NativeBatch, indices: readonly number[]) => Promise<void>,
): Promise<void> {
  const used = sequences.map((_, i) => i).filter((i) => sequences[i]!.rows.length > 0);
  const lengths = used.map((i) => sequences[i]!.tokens.length);
  for (const members of microBatches(lengths, maxTokens)) {
    const indices = members.map((member) => used[member]!);
    await work(packSequences(indices.map((i) => sequences[i]!)), indices);
  }
}

/** Runs `work`, which yields one number per row of a micro-batch, and gives each sequence its own rows back. */
export async function collectRows(
  sequences: readonly TrainSequence[],
  maxTokens: number,
  work: (batch: NativeBatch) => Promise<Float32Array>,
): Promise<Float32Array[]> {
  const result = sequences.map(() => new Float32Array(0));
  await forEachMicroBatch(sequences, maxTokens, async (batch, indices) => {
    const values_R = await work(batch);
    let offset = 0;
    for (const index of indices) {
      const end = offset + sequences[index]!.rows.length;
      result[index] = values_R.slice(offset, end);
      offset = end;
    }
  });
  return result;
}
