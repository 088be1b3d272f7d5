/** Sequences as the trainer sees them, and how they are packed into micro-batches without padding. */
import type { NativeBatch } from "../../base/addon/training.ts";
import { SeekError } from "../../base/errors.ts";

/**
 * Tokens to train on. `rows` are the positions whose next token the loss looks at; every other array has one entry per
 * row, `[R]`, so nothing that belongs to an observation token can reach the loss (law 2).
 */
export interface TrainSequence {
  /** Ids `[T]`. */
  readonly tokens: Int32Array;
  /**
   * Where spans begin, `[S]`, the first at 0: a span knows nothing of the others. All of them are one trajectory: its
   * advantages, weights and ratios are those of one sequence, however many spans it has (law 3). @default one span
   */
  readonly starts?: Int32Array;
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
  const spanStarts: number[] = [];
  const rows = new Int32Array(numRows);
  const sequenceOf = new Int32Array(numRows);
  let token = 0;
  let row = 0;
  for (const [i, sequence] of sequences.entries()) {
    tokens.set(sequence.tokens, token);
    for (const start of sequence.starts ?? [0]) spanStarts.push(token + start);
    for (const position of sequence.rows) {
      rows[row] = token + position;
      sequenceOf[row] = i;
      row += 1;
    }
    token += sequence.tokens.length;
  }
  return { tokens, spanStarts: Int32Array.from([...spanStarts, token]), rows, sequences: sequenceOf };
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

/** A run of a sequence's rows that stand in one micro-batch. */
interface Piece {
  /** Of the sequence in the list. */
  readonly index: number;
  readonly firstRow: number;
  readonly numRows: number;
}

/** How sequences are cut into micro-batches. */
interface Cut {
  /** Tokens of one. */
  readonly maxTokens: number;
  /** Whether the rows of a sequence stay together, as a ratio over the whole sequence needs it. @default false */
  readonly isWhole?: boolean;
}

/**
 * Runs `work` on each micro-batch in turn. Sequences of several spans are cut between them; those without rows have
 * nothing to say and are left out.
 */
export async function forEachMicroBatch(
  sequences: readonly TrainSequence[],
  { maxTokens, isWhole = false }: Cut,
  work: (batch: NativeBatch, pieces: readonly Piece[]) => Promise<void>,
): Promise<void> {
  const parts = sequences
    .flatMap((sequence, index) => (isWhole ? [wholeOf(sequence, index)] : piecesOf(sequence, index)))
    .filter(({ sequence }) => sequence.rows.length > 0);
  const lengths = parts.map(({ sequence }) => sequence.tokens.length);
  for (const members of microBatches(lengths, maxTokens)) {
    const chosen = members.map((member) => parts[member]!);
    const batch = packSequences(chosen.map(({ sequence }) => sequence));
    await work(
      batch,
      chosen.map(({ piece }) => piece),
    );
  }
}

interface Part {
  readonly sequence: TrainSequence;
  readonly piece: Piece;
}

function wholeOf(sequence: TrainSequence, index: number): Part {
  return { sequence, piece: { index, firstRow: 0, numRows: sequence.rows.length } };
}

function piecesOf(sequence: TrainSequence, index: number): Part[] {
  const { tokens, rows, starts } = sequence;
  if (starts === undefined) return [wholeOf(sequence, index)];
  let firstRow = 0;
  return Array.from(starts, (start, span) => {
    const end = starts[span + 1] ?? tokens.length;
    const next = rows.findIndex((row) => row >= end);
    const endRow = next < 0 ? rows.length : next;
    const piece = { index, firstRow, numRows: endRow - firstRow };
    const own = {
      tokens: tokens.subarray(start, end),
      rows: rows.subarray(firstRow, endRow).map((row) => row - start),
    };
    const arrays = rowArrays.flatMap((name) => {
      const values_R = sequence[name];
      return values_R === undefined ? [] : [[name, values_R.subarray(firstRow, endRow)]];
    });
    firstRow = endRow;
    return { sequence: { ...own, ...Object.fromEntries(arrays) }, piece };
  });
}

/** The spans of a sequence as sequences of their own, for looking at; their weights stay those of the whole. */
export function singleSpans(sequence: TrainSequence): TrainSequence[] {
  return piecesOf(sequence, 0).map((part) => part.sequence);
}

/** Tokens and rows alone: what a forward without a loss needs. */
export function withoutArrays({ tokens, rows, starts }: TrainSequence): TrainSequence {
  return { tokens, rows, starts };
}

/** An array of zeros for the rows of each sequence. */
export function emptyRows(sequences: readonly TrainSequence[]): Float32Array[] {
  return sequences.map(({ rows }) => new Float32Array(rows.length));
}

/** Gives the numbers of a micro-batch's rows to the sequences that they belong to. */
export function distribute(
  values_R: Float32Array,
  pieces: readonly Piece[],
  into: readonly Float32Array[],
): void {
  let offset = 0;
  for (const { index, firstRow, numRows } of pieces) {
    into[index]!.set(values_R.subarray(offset, offset + numRows), firstRow);
    offset += numRows;
  }
}
