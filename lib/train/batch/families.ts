/** Sequences side by side with those that begin alike: what they share is run once where they stand in one micro-batch. */
import { balanced } from "../../comm/claims.ts";
import type { ProcessGroup } from "../../comm/process-group.ts";
import { type TrainSequence, textsOf } from "./packing.ts";
import { compareTexts, numShared, TreeSize } from "./prefix-tree.ts";

/** Sequences that share less of the shorter one are placed by size alone. */
const leastShare = 0.25;

/** The share of a rank is made of pieces of at most this part of it, or a large family would make shares uneven. */
export const piecesOfShare = 4;

/** The texts of each sequence, sorted. */
export function sortedTexts(sequences: readonly TrainSequence[]): Int32Array[][] {
  return sequences.map((sequence) =>
    textsOf(sequence)
      .map(({ tokens }) => tokens)
      .sort(compareTexts),
  );
}

/** A sequence, and what it begins with as the one before it does. */
interface Kin {
  readonly index: number;
  /** Tokens of its first text. */
  readonly length: number;
  /** Tokens that it shares with the one before; undefined where it is no kin of it. */
  readonly shared: number | undefined;
}

/** Those that begin alike side by side. */
export function inKinOrder(texts: readonly (readonly Int32Array[])[]): Kin[] {
  const none = new Int32Array(0);
  const opening = (index: number): Int32Array => texts[index]![0] ?? none;
  const order = texts.map((_, i) => i).sort((a, b) => compareTexts(opening(a), opening(b)) || a - b);
  return order.map((index, i) => {
    const [before, text] = [i === 0 ? none : opening(order[i - 1]!), opening(index)];
    const shared = numShared(before, text);
    const isKin = i > 0 && shared >= leastShare * Math.min(before.length, text.length);
    return { index, length: text.length, shared: isKin ? shared : undefined };
  });
}

/**
 * Shares sequences out over ranks, about as many tokens to each, those that begin alike to the same where that is even.
 *
 * @param sequences - each with at least one row
 * @param numRanks - how many share them
 * @returns indices into `sequences`, increasing, one list per rank; they follow from the arguments alone
 * @example
 * const rows = Int32Array.of(2);
 * const prompts = [Int32Array.of(1, 2, 3, 4), Int32Array.of(5, 6, 7, 8), Int32Array.of(1, 2, 9, 4)];
 * assert.equal(sharesOf(prompts.map((tokens) => ({ tokens, rows })), 2).flat().length, 3);
 */
export function sharesOf(sequences: readonly TrainSequence[], numRanks: number): number[][] {
  const texts = sortedTexts(sequences);
  const total = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const most = total / (numRanks * piecesOfShare);
  const pieces: { readonly indices: number[]; readonly tree: TreeSize }[] = [];
  for (const { index, shared } of inKinOrder(texts)) {
    const own = texts[index]!;
    const last = pieces.at(-1);
    const fits = last !== undefined && last.tree.numTokens + last.tree.added(own) <= most;
    const piece = shared !== undefined && fits ? last : { indices: [], tree: new TreeSize() };
    if (piece !== last) pieces.push(piece);
    piece.indices.push(index);
    piece.tree.add(own);
  }
  const sizes = pieces.map(({ tree }) => tree.numTokens);
  return balanced(sizes, numRanks).map((chosen) =>
    chosen.flatMap((piece) => pieces[piece]!.indices).sort((a, b) => a - b),
  );
}

/**
 * Runs each sequence on one rank and tells all of them what came of it.
 *
 * @param sequences - the same on all ranks
 * @param processGroup - the ranks; undefined for one process
 * @param what - is run, for errors
 * @param run - one result for each of the sequences that it is given
 * @returns one result per sequence
 */
export async function onOneRankEach<Result>(
  sequences: readonly TrainSequence[],
  processGroup: ProcessGroup | undefined,
  what: string,
  run: (own: readonly TrainSequence[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  if (processGroup === undefined) return run(sequences);
  const shares = sharesOf(sequences, processGroup.size);
  const own = shares[processGroup.rank]!.map((i) => sequences[i]!);
  const results: Result[] = new Array(sequences.length);
  for (const [rank, found] of (await processGroup.allGather(what, run(own))).entries()) {
    for (const [i, index] of shares[rank]!.entries()) results[index] = found[i]!;
  }
  return results;
}
