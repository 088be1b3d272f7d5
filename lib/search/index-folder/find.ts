/** Finds passages in all segments at once. */
import type { NativeHits } from "../../base/addon/handle.ts";
import { breathe } from "../../base/slices/breathe.ts";
import type { Bm25Index } from "../bm25.ts";
import type { Passage } from "../corpus/passage.ts";
import { fuseRankings } from "../rank-fusion.ts";
import type { Hit } from "../search.ts";
import type { FolderEmbedder } from "./embedders.ts";
import type { Segment } from "./segment.ts";

/** How an index is searched: by words, by vectors, or by both, their rankings fused. */
export type SearchMode = "bm25" | "dense" | "hybrid";

/** A passage by its number, counted through all segments. */
export interface RowHit {
  readonly row: number;
  readonly score: number;
}

/** Something that numbers passages from `first` on and leaves removed ones out. */
interface Source {
  readonly first: number;
  /** Passages that can be found. */
  readonly numLive: number;
  /** The `topK` best for each query, numbered from 0. */
  search(topK: number): Promise<NativeHits>;
}

/** The best of each ranking that are fused, at least. */
export const fusedDepth = 50;

async function findIn(
  { first, numLive, search }: Source,
  numQueries: number,
  topK: number,
): Promise<RowHit[][]> {
  const asked = Math.min(topK, numLive);
  if (asked === 0) return Array.from({ length: numQueries }, () => []);
  const { ids, scores } = await search(asked);
  return Array.from({ length: numQueries }, (_, query) => {
    const hits: RowHit[] = [];
    for (let i = query * asked; i < (query + 1) * asked; i += 1) {
      const row = ids[i] ?? -1;
      if (row >= 0) hits.push({ row: first + row, score: scores[i] ?? 0 });
    }
    return hits;
  });
}

/** The better hit first: the higher score, of equal scores the lower number. */
export const byScore = (a: RowHit, b: RowHit): number => b.score - a.score || a.row - b.row;

async function findInAll(sources: readonly Source[], numQueries: number, topK: number): Promise<RowHit[][]> {
  const found = await Promise.all(sources.map((source) => findIn(source, numQueries, topK)));
  if (found.length === 1 && found[0]) return found[0];
  return Array.from({ length: numQueries }, (_, query) =>
    found
      .flatMap((each) => each[query] ?? [])
      .sort(byScore)
      .slice(0, topK),
  );
}

/** What a search needs. */
export interface Finder {
  readonly segments: readonly Segment[];
  /** The segments' indexes by words as one; absent when they are not searched. */
  readonly bm25?: Bm25Index;
  /** Absent when the vectors are not searched. */
  readonly embedder?: FolderEmbedder;
  readonly mode: SearchMode;
  /** Candidates of each segment for each result that are scored again; its own number unless given. */
  readonly overFetch?: number | undefined;
}

/** What is looked for. */
interface Asked {
  readonly queries: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** The number of each segment's first passage. */
export function firstRows(segments: readonly Segment[]): number[] {
  let first = 0;
  return segments.map(({ entry }) => {
    first += entry.count;
    return first - entry.count;
  });
}

/** The place of the segment that a passage stands in. */
function placeOf(firsts: readonly number[], row: number): number {
  let [low, high] = [0, firsts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((firsts[middle] ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

async function findByWords({ segments, bm25 }: Finder, { queries }: Asked, topK: number) {
  if (bm25 === undefined) return queries.map(() => []);
  const numLive = segments.reduce((sum, segment) => sum + segment.numLive, 0);
  const source = { first: 0, numLive, search: (k: number) => bm25.search(queries, { topK: k }) };
  return findInAll([source], queries.length, topK);
}

async function findByVectors(finder: Finder, { queries, signal }: Asked, topK: number) {
  const { embedder } = finder;
  if (embedder === undefined) return queries.map(() => []);
  const vectors = await embedder.embedQueries(queries, signal ? { signal } : {});
  return findNearest(finder, { vectors, numQueries: queries.length }, topK);
}

/** The passages nearest to queries' vectors, f32 [numQueries, dim]. */
export async function findNearest(
  { segments, overFetch }: Pick<Finder, "segments" | "overFetch">,
  { vectors: embedded, numQueries }: { readonly vectors: Float32Array; readonly numQueries: number },
  topK: number,
): Promise<RowHit[][]> {
  const firsts = firstRows(segments);
  const sources = segments.flatMap((segment, place): Source[] => {
    const { vectors } = segment;
    if (vectors === undefined) return [];
    const search = (k: number): Promise<NativeHits> => vectors.search(embedded, { topK: k, overFetch });
    const source = { first: firsts[place] ?? 0, numLive: segment.numLive, search };
    return [source];
  });
  return findInAll(sources, numQueries, topK);
}

/** The best passages of each query by their numbers. */
export async function findRows(finder: Finder, asked: Asked, topK: number): Promise<RowHit[][]> {
  if (finder.mode === "bm25") return findByWords(finder, asked, topK);
  if (finder.mode === "dense") return findByVectors(finder, asked, topK);
  const depth = Math.max(topK, fusedDepth);
  const [words, vectors] = await Promise.all([
    findByWords(finder, asked, depth),
    findByVectors(finder, asked, depth),
  ]);
  const fused: RowHit[][] = [];
  for (const query of asked.queries.keys()) {
    await breathe();
    fused.push(fuseRows(words[query] ?? [], vectors[query] ?? [], topK));
  }
  return fused;
}

/** The ranking by words and that by vectors as one. */
export function fuseRows(words: readonly RowHit[], vectors: readonly RowHit[], topK: number): RowHit[] {
  return fuseRankings([words, vectors], ({ row }) => String(row))
    .slice(0, topK)
    .map(({ item, score }) => ({ ...item, score }));
}

/** Passages by their numbers, each read once. */
export async function readPassages(
  segments: readonly Segment[],
  wanted: readonly number[],
): Promise<Map<number, Passage>> {
  const firsts = firstRows(segments);
  const rows = [...new Set(wanted)];
  const passages = new Map<number, Passage>();
  const readFrom = async (segment: Segment, place: number): Promise<void> => {
    const own = rows.filter((row) => placeOf(firsts, row) === place);
    if (own.length === 0) return;
    const read = await segment.passages.getMany(Int32Array.from(own, (row) => row - (firsts[place] ?? 0)));
    for (const [i, row] of own.entries()) passages.set(row, read[i] as Passage);
  };
  await Promise.all(segments.map(readFrom));
  return passages;
}

/** The passages of hits, with their scores. */
export async function readHits(
  segments: readonly Segment[],
  found: readonly (readonly RowHit[])[],
): Promise<Hit[][]> {
  const passages = await readPassages(
    segments,
    found.flatMap((hits) => hits.map(({ row }) => row)),
  );
  return found.map((hits) => hits.map(({ row, score }) => ({ ...(passages.get(row) as Passage), score })));
}
