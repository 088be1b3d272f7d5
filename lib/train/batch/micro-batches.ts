/** How sequences are cut into micro-batches by the tokens that they cost together, and what comes back per row. */
import type { NativeBatch } from "../../base/addon/training.ts";
import type { DecoderConfig } from "../../model/config/config.ts";
import { checkContext } from "../../model/config/context.ts";
import { inKinOrder, sortedTexts } from "./families.ts";
import { packSequences, singleSpans, type TrainSequence, textsOf } from "./packing.ts";
import { TreeSize } from "./prefix-tree.ts";

/** Tokens of one micro-batch unless said otherwise: enough to fill the cores, little memory. */
export const defaultMaxTokens = 4096;

/**
 * Forms micro-batches of at most `maxTokens` tokens, those that several sequences begin with counted once: those that
 * begin alike one after the other, large families first, each sequence where it adds the fewest tokens and into the
 * fullest of such micro-batches. A longer sequence gets a micro-batch of its own. The loss does not depend on the result
 * (law 3).
 *
 * @param sequences - each with at least one row
 * @param maxTokens - budget of one micro-batch
 * @returns indices into `sequences`, one list per micro-batch
 * @throws ERR_RANGE when a row has no next token in its span
 * @example
 * const rows = Int32Array.of(2);
 * const prompts = [Int32Array.of(1, 2, 3, 4), Int32Array.of(5, 6, 7, 8), Int32Array.of(1, 2, 9, 4)];
 * assert.deepEqual(microBatches(prompts.map((tokens) => ({ tokens, rows })), 4), [[0, 2], [1]]);
 */
export function microBatches(sequences: readonly TrainSequence[], maxTokens: number): number[][] {
  const texts = sortedTexts(sequences);
  const batches: { readonly indices: number[]; readonly tree: TreeSize }[] = [];
  for (const index of familyOrder(texts)) {
    const own = texts[index]!;
    let best = { added: Number.POSITIVE_INFINITY, batch: undefined as (typeof batches)[number] | undefined };
    for (const batch of batches) {
      const { numTokens } = batch.tree;
      if (numTokens >= maxTokens) continue;
      const added = batch.tree.added(own);
      if (numTokens + added > maxTokens || added > best.added) continue;
      if (added === best.added && numTokens <= best.batch!.tree.numTokens) continue;
      best = { added, batch };
    }
    const { batch = { indices: [], tree: new TreeSize() } } = best;
    if (best.batch === undefined) batches.push(batch);
    batch.indices.push(index);
    batch.tree.add(own);
  }
  return batches.map(({ indices }) => indices);
}

/** Those that begin alike side by side; families by their sizes. */
function familyOrder(texts: readonly (readonly Int32Array[])[]): number[] {
  const families: { readonly indices: number[]; size: number }[] = [];
  for (const { index, length, shared } of inKinOrder(texts)) {
    if (shared === undefined) families.push({ indices: [], size: 0 });
    const family = families.at(-1)!;
    family.indices.push(index);
    family.size += length - (shared ?? 0);
  }
  return families.sort((a, b) => b.size - a.size).flatMap(({ indices }) => indices);
}

/** A run of a sequence's rows that stand in one micro-batch. */
interface Piece {
  /** Of the sequence in the list. */
  readonly index: number;
  readonly firstRow: number;
  readonly numRows: number;
}

/** How sequences are cut into micro-batches. */
export interface Cut {
  /** The shape of the model that runs them. */
  readonly config: DecoderConfig;
  /** Tokens of one. */
  readonly maxTokens: number;
  /** Whether the rows of a sequence stay together, as a ratio over the whole sequence needs it. @default false */
  readonly isWhole?: boolean;
}

/**
 * Refuses sequences of which a span, up to what its last row predicts, is longer than the model is loaded for.
 *
 * @throws ERR_RANGE naming the sequence by its place; or when a row has no next token in its span
 */
export function checkContexts(sequences: readonly TrainSequence[], config: DecoderConfig): void {
  for (const [i, sequence] of sequences.entries()) {
    for (const { tokens } of textsOf(sequence)) checkContext(config, tokens.length + 1, `sequence ${i}`);
  }
}

/** A micro-batch, laid out when it is run. */
interface MicroBatch {
  readonly pack: () => NativeBatch;
  readonly pieces: readonly Piece[];
}

/**
 * Cuts sequences into micro-batches. Sequences of several spans are cut between them; those without rows have nothing to
 * say and are left out.
 *
 * @throws ERR_RANGE for a sequence that is longer than the model is loaded for
 */
export function cutIntoMicroBatches(
  sequences: readonly TrainSequence[],
  { config, maxTokens, isWhole = false }: Cut,
): MicroBatch[] {
  checkContexts(sequences, config);
  const parts = sequences
    .flatMap((sequence, index) => partsOf(isWhole ? [sequence] : singleSpans(sequence), index))
    .filter(({ sequence }) => sequence.rows.length > 0);
  const cut = microBatches(
    parts.map(({ sequence }) => sequence),
    maxTokens,
  );
  return cut.map((members) => {
    const chosen = members.map((member) => parts[member]!);
    const pack = (): NativeBatch => packSequences(chosen.map(({ sequence }) => sequence));
    return { pack, pieces: chosen.map(({ piece }) => piece) };
  });
}

/** Runs `work` on each micro-batch in turn. @throws as {@link cutIntoMicroBatches}, before any work */
export async function forEachMicroBatch(
  sequences: readonly TrainSequence[],
  cut: Cut,
  work: (batch: NativeBatch, pieces: readonly Piece[]) => Promise<void>,
): Promise<void> {
  for (const { pack, pieces } of cutIntoMicroBatches(sequences, cut)) await work(pack(), pieces);
}

function partsOf(sequences: readonly TrainSequence[], index: number) {
  let firstRow = 0;
  return sequences.map((sequence) => {
    const piece: Piece = { index, firstRow, numRows: sequence.rows.length };
    firstRow += sequence.rows.length;
    return { sequence, piece };
  });
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
