/** Texts as the native encoders take them: ids end to end, cut at the model's longest text, made in short turns. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import type { Tokenizer } from "../../text/tokenizers/tokenizer.ts";

/** One text's ids, with segments where a model reads two texts together. */
export interface TokenRow {
  readonly ids: Int32Array;
  readonly types?: Int32Array;
}

/** Texts laid end to end. */
export interface TokenBatch {
  readonly ids: Int32Array;
  /** `[S + 1]` offsets into the ids. */
  readonly starts: Int32Array;
  readonly types: Int32Array | undefined;
}

/** Text that others wrote is letters to the tokenizer, even where it spells a mark. */
const asLetters = { parseSpecialTokens: false } as const;

/**
 * A text's ids with the model's marks around them.
 *
 * @param tokenizer the model's
 * @param text prefix and text
 * @param maxTokens marks included; the text's end is cut off beyond it
 * @returns ids i32 [T]
 * @throws ERR_ARGUMENT when nothing is left, as for an empty text without marks
 */
export function textRow(tokenizer: Tokenizer, text: string, maxTokens: number): TokenRow {
  const { prefix, suffix } = tokenizer.marks;
  const ids = tokenizer.encode(text, asLetters).subarray(0, maxTokens - prefix.length - suffix.length);
  const row = Int32Array.from([...prefix, ...ids, ...suffix]);
  if (row.length === 0) throw new SeekError("ERR_ARGUMENT", `text: expected at least one token, got none`);
  return { ids: row };
}

/** How many ids of each text fit into `room`: the longer is cut first, both to the same length if need be. */
function fitted(first: number, second: number, room: number): [number, number] {
  if (first + second <= room) return [first, second];
  const least = Math.min(first, second);
  if (least * 2 >= room) {
    const half = Math.floor(room / 2);
    return first <= second ? [half, room - half] : [room - half, half];
  }
  return first <= second ? [first, room - first] : [room - second, second];
}

/**
 * The ids of two texts that a model reads together, with their segments.
 *
 * @param tokenizer the model's
 * @param texts the two
 * @param maxTokens marks included; the longer text loses its end first
 * @returns ids and types i32 [T]
 * @throws ERR_FORMAT when the tokenizer has no form for two texts
 */
export function pairRow(
  tokenizer: Tokenizer,
  [first, second]: readonly [string, string],
  maxTokens: number,
): TokenRow {
  const marks = tokenizer.pairMarks;
  if (marks === undefined)
    throw new SeekError("ERR_FORMAT", "tokenizer: its post_processor has no form for two texts");
  const a = tokenizer.encode(first, asLetters);
  const b = tokenizer.encode(second, asLetters);
  const room = maxTokens - marks.prefix.length - marks.middle.length - marks.suffix.length;
  const [numA, numB] = fitted(a.length, b.length, room);
  const head = [...marks.prefix, ...a.subarray(0, numA), ...marks.middle];
  const ids = Int32Array.from([...head, ...b.subarray(0, numB), ...marks.suffix]);
  return { ids, types: new Int32Array(ids.length).fill(marks.secondType, head.length) };
}

/** Lays rows end to end. */
function packed(rows: readonly TokenRow[]): TokenBatch {
  const starts = new Int32Array(rows.length + 1);
  for (const [i, { ids }] of rows.entries()) starts[i + 1] = (starts[i] ?? 0) + ids.length;
  const ids = new Int32Array(starts.at(-1) ?? 0);
  const types = rows[0]?.types && new Int32Array(ids.length);
  for (const [i, row] of rows.entries()) {
    ids.set(row.ids, starts[i]);
    if (row.types !== undefined) types?.set(row.types, starts[i]);
  }
  return { ids, starts, types };
}

/** How long the event loop is held at most before other work has its turn. */
const turnMs = 4;

/**
 * Cuts items into batches of about `maxTokens` tokens, tokenizing in turns of a few milliseconds so that the event loop
 * stays free.
 *
 * @param items texts, or pairs
 * @param rowOf makes an item's ids
 * @param options tokens of a batch, the caller's signal
 */
export async function* tokenBatches<Item>(
  items: readonly Item[],
  rowOf: (item: Item) => TokenRow,
  { maxTokens, signal }: { readonly maxTokens: number; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<TokenBatch> {
  let rows: TokenRow[] = [];
  let numTokens = 0;
  let turnEnds = performance.now() + turnMs;
  for (const item of items) {
    const row = rowOf(item);
    rows.push(row);
    numTokens += row.ids.length;
    if (numTokens >= maxTokens) {
      yield packed(rows);
      rows = [];
      numTokens = 0;
    }
    if (performance.now() < turnEnds) continue;
    await nextTurn();
    throwIfAborted(signal, "encoder");
    turnEnds = performance.now() + turnMs;
  }
  if (rows.length > 0) yield packed(rows);
}
