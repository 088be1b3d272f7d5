/** What cannot be true of a shard's answer that has the right shape: such a server is failing, and another is asked. */
import type { Columns } from "./answers.ts";

/** What a shard holds, as its description says. */
interface Held {
  /** Removed ones included. */
  readonly passages: number;
  /** Passages that can be found. */
  readonly live: number;
  /** Whether each vector is compared; a graph may find fewer passages than are asked for. */
  readonly exact: boolean;
}

/** How many rows a ranking has. */
interface Bounds {
  readonly least: number;
  readonly most: number;
}

/**
 * Of frequencies and vectors of queries.
 *
 * @param answer - `vectors` as base64 of f32
 * @param asked - how many queries were to be looked up, and how many to be embedded
 * @returns what is wrong; undefined where nothing is
 */
export function preparedFlaw(
  {
    frequencies,
    vectors,
  }: { readonly frequencies: readonly (readonly number[])[]; readonly vectors: string },
  asked: { readonly numWords: number; readonly numVectors: number },
  { passages }: Held,
): string | undefined {
  const { numWords, numVectors } = asked;
  if (frequencies.length !== numWords)
    return `expected frequencies of ${numWords} queries, got ${frequencies.length}`;
  const odd = frequencies.flat().find((count) => !(Number.isInteger(count) && count <= passages));
  if (odd !== undefined) return `expected frequencies of at most ${passages} passages, got ${odd}`;
  const bytes = Buffer.from(vectors, "base64");
  const isWhole = numVectors === 0 ? bytes.length === 0 : bytes.length > 0;
  if (!isWhole || bytes.length % (4 * Math.max(1, numVectors)) !== 0)
    return `expected f32 vectors of ${numVectors} queries, got ${bytes.length} bytes`;
  for (let at = 0; at < bytes.length; at += 4)
    if (!Number.isFinite(bytes.readFloatLE(at))) return "expected vectors of numbers, got one that is none";
  return undefined;
}

/**
 * Of a shard's rankings.
 *
 * @param found - as they came
 * @param asked - how many rows at most; by words, of the terms of each query in how many of the shard's passages they stand;
 *   by vectors, the number of queries
 * @returns what is wrong; undefined where nothing is
 */
export function foundFlaw(
  found: { readonly words?: Columns | undefined; readonly vectors?: Columns | undefined },
  asked: {
    readonly depth: number;
    readonly words: readonly (readonly number[])[] | undefined;
    readonly numVectors: number;
  },
  held: Held,
): string | undefined {
  const { depth, words, numVectors } = asked;
  const most = Math.min(depth, held.live);
  const byVectors = Array.from({ length: numVectors }, () => ({ least: held.exact ? most : 0, most }));
  return (
    (words &&
      rankingsFlaw(
        "words",
        found.words,
        held,
        words.map((each) => sharing(each, most, held)),
      )) ??
    (numVectors > 0 ? rankingsFlaw("vectors", found.vectors, held, byVectors) : undefined)
  );
}

/** All passages that share a term with the query are found: no fewer than have its commonest one, removed ones aside. */
function sharing(frequencies: readonly number[], most: number, { passages, live }: Held): Bounds {
  const [commonest, all] = frequencies.reduce(
    ([top, sum], each) => [Math.max(top, each), sum + each],
    [0, 0],
  );
  return {
    least: Math.min(most, Math.max(0, commonest - (passages - live))),
    most: Math.min(most, all),
  };
}

function rankingsFlaw(
  name: string,
  found: Columns | undefined,
  { passages }: Held,
  bounds: readonly Bounds[],
): string | undefined {
  if (found?.rows.length !== bounds.length)
    return `${name}: expected rows for ${bounds.length} queries, got ${found?.rows.length ?? "none"}`;
  for (const [query, each] of bounds.entries()) {
    const [rows = [], scores = []] = [found.rows[query], found.scores[query]];
    const flaw = countFlaw(rows.length, each) ?? rowsFlaw(rows, passages) ?? scoresFlaw(scores);
    if (flaw !== undefined) return `${name} of query ${query}: ${flaw}`;
  }
  return undefined;
}

function countFlaw(count: number, { least, most }: Bounds): string | undefined {
  if (count >= least && count <= most) return undefined;
  return `expected ${least === most ? least : `${least} to ${most}`} rows, got ${count}`;
}

function rowsFlaw(rows: readonly number[], passages: number): string | undefined {
  const outside = rows.find((row) => !(row >= 0 && row < passages));
  if (outside !== undefined) return `expected rows from 0 to ${passages - 1}, got ${outside}`;
  const seen = new Set<number>();
  const twice = rows.find((row) => seen.size === seen.add(row).size);
  return twice === undefined ? undefined : `expected each row once, got ${twice} twice`;
}

/** Hits have scores in f32. */
function scoresFlaw(scores: readonly number[]): string | undefined {
  const odd = scores.find((score) => !Number.isFinite(Math.fround(score)));
  if (odd !== undefined) return `expected scores in the range of f32, got ${odd}`;
  const rising = scores.findIndex((score, i) => i > 0 && score > (scores[i - 1] ?? score));
  if (rising < 0) return undefined;
  return `expected no score above the one before it, got ${scores[rising]} after ${scores[rising - 1]}`;
}
