/** Sequences as the trainer sees them, and how they are packed: without padding, and what they begin with alike once. */
import type { NativeBatch } from "../../base/addon/training.ts";
import { SeekError } from "../../base/errors.ts";
import { prefixTree } from "./prefix-tree.ts";

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
  /** Positions `[R]`, increasing, none the last of its span; row `r` predicts `tokens[rows[r] + 1]`. */
  readonly rows: Int32Array;
  /** Share of each row in the loss of the whole step; the normaliser is inside. */
  readonly weights?: Float32Array;
  readonly advantages?: Float32Array;
  /** Log-probabilities under the policy the update started from. @default the current ones, so every ratio is 1 */
  readonly oldLogprobs?: Float32Array;
  /** Log-probabilities as the engine reported them: for the gap (law 4), and for what corrects the ratios. */
  readonly rolloutLogprobs?: Float32Array;
  /** Version of the weights that sampled the token of each row; used only to measure. */
  readonly weightsVersions?: Int32Array;
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

/** A span of a sequence, and which of the sequence's rows stand in it. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly firstRow: number;
  readonly endRow: number;
}

function spansOf({ tokens, starts = Int32Array.of(0), rows }: TrainSequence): Span[] {
  let firstRow = 0;
  return Array.from(starts, (start, i) => {
    const end = starts[i + 1] ?? tokens.length;
    let endRow = firstRow;
    while (endRow < rows.length && (rows[endRow]! < end || i === starts.length - 1)) endRow += 1;
    const span = { start, end, firstRow, endRow };
    firstRow = endRow;
    return span;
  });
}

/** The part of a span that a forward needs, up to its last row, and the rows' places in it. */
interface Text {
  readonly tokens: Int32Array;
  readonly rows: Int32Array;
}

/**
 * The texts that a forward of a sequence runs, one per span that has rows.
 *
 * @param sequence - rows increasing
 * @returns ids up to each span's last row
 * @throws ERR_RANGE when a row has no next token in its span
 */
export function textsOf(sequence: TrainSequence): Text[] {
  return spansOf(sequence).flatMap(({ start, end, firstRow, endRow }) => {
    if (firstRow === endRow) return [];
    const rows = sequence.rows.subarray(firstRow, endRow);
    for (const [i, row] of rows.entries()) {
      if (row >= (i === 0 ? start : rows[i - 1]! + 1) && row + 1 < end) continue;
      throw new SeekError(
        "ERR_RANGE",
        `rows: expected increasing positions with a next token in their span, got ${row}`,
      );
    }
    return [
      { tokens: sequence.tokens.subarray(start, rows.at(-1)! + 1), rows: rows.map((row) => row - start) },
    ];
  });
}

function packIds(sequences: readonly TrainSequence[], numRows: number) {
  const texts = sequences.map(textsOf);
  const tree = prefixTree(texts.flatMap((own) => own.map(({ tokens }) => tokens)));
  const rows = new Int32Array(numRows);
  const targets = new Int32Array(numRows);
  const sequenceOf = new Int32Array(numRows);
  let [row, text] = [0, 0];
  for (const [i, sequence] of sequences.entries()) {
    targets.set(
      sequence.rows.map((position) => sequence.tokens[position + 1]!),
      row,
    );
    sequenceOf.fill(i, row, row + sequence.rows.length);
    for (const { rows: own } of texts[i]!) {
      const places = tree.places[text]!;
      rows.set(
        own.map((position) => places[position]!),
        row,
      );
      row += own.length;
      text += 1;
    }
  }
  const { tokens, starts: spanStarts, parents: spanParents } = tree;
  return { tokens, spanStarts, spanParents, rows, targets, sequences: sequenceOf };
}

/**
 * Lays sequences out as a tree: what several begin with stands once, and what follows a span's last row is left out. A
 * per-row array must be on all of them or on none.
 *
 * @param sequences - at least one, each with at least one row
 * @returns the arrays the native trainer takes
 * @throws ERR_SHAPE when a per-row array is missing somewhere or has another length than `rows`; ERR_RANGE when a row
 *   has no next token in its span
 * @example
 * const answers = [Int32Array.of(1, 2, 3), Int32Array.of(1, 2, 4, 5)];
 * const batch = packSequences(answers.map((tokens) => ({ tokens, rows: Int32Array.of(1) })));
 * assert.deepEqual([...batch.rows], [1, 1]);
 * assert.deepEqual([...batch.targets], [3, 4]);
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

/** The spans of a sequence as sequences of their own; their weights stay those of the whole. */
export function singleSpans(sequence: TrainSequence): TrainSequence[] {
  if (sequence.starts === undefined) return [sequence];
  return spansOf(sequence).map(({ start, end, firstRow, endRow }) => {
    const arrays = rowArrays.flatMap((name) => {
      const values_R = sequence[name];
      return values_R === undefined ? [] : [[name, values_R.subarray(firstRow, endRow)]];
    });
    return {
      tokens: sequence.tokens.subarray(start, end),
      rows: sequence.rows.subarray(firstRow, endRow).map((row) => row - start),
      ...Object.fromEntries(arrays),
    };
  });
}

/** Tokens and rows alone: what a forward without a loss needs. */
export function withoutArrays({ tokens, rows, starts }: TrainSequence): TrainSequence {
  return { tokens, rows, starts };
}
