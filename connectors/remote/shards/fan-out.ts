/** One search over all shards: what each finds, merged as one index would have found it. */
import { mapConcurrently } from "../../../lib/base/map-concurrently.ts";
import type { Passage } from "../../../lib/search/corpus/passage.ts";
import { byScore, fusedDepth, fuseRows, type RowHit } from "../../../lib/search/index-folder/find.ts";
import type { Hit } from "../../../lib/search/search.ts";
import { Fault } from "../fault.ts";
import { type Columns, foundSchema, passagesSchema, preparedSchema } from "./answers.ts";
import { foundFlaw, preparedFlaw } from "./flaws.ts";
import type { PlacedShard, Whole } from "./whole.ts";

/** What is looked for. */
interface Asked {
  readonly queries: readonly string[];
  readonly topK: number;
  readonly signal: AbortSignal | undefined;
}

/** What the searches of all shards need to know of the whole. */
interface Prepared {
  /** Of each query's terms, over all shards. */
  readonly frequencies: readonly (readonly number[])[];
  /** The same within each shard. */
  readonly ofShards: readonly (readonly (readonly number[])[])[];
  /** The queries' vectors: base64 of f32. */
  readonly vectors: string;
}

/** All shards are asked at once; each has limits of its own. */
function ofEach<Result>(
  { shards }: Whole,
  ask: (shard: PlacedShard, index: number) => Promise<Result>,
): Promise<Result[]> {
  return mapConcurrently(shards, shards.length, ask);
}

/** Each query is embedded by one shard, and every shard embeds its share of them, whose place depends on the texts alone. */
function shareOf(queries: readonly string[], place: number, count: number): readonly string[] {
  const bound = (i: number): number => Math.floor((queries.length * i) / count);
  return queries.slice(bound(place), bound(place + 1));
}

async function prepare(whole: Whole, { queries, signal }: Asked): Promise<Prepared> {
  const { mode, shards } = whole;
  const words = mode === "dense" ? [] : queries;
  const turn = queries.join("").length % shards.length;
  const answers = await ofEach(whole, async (shard, i) => {
    const place = (i + turn) % shards.length;
    const vectors = mode === "bm25" ? [] : shareOf(queries, place, shards.length);
    const asked = { numWords: words.length, numVectors: vectors.length };
    if (words.length + vectors.length === 0)
      return { place, ...asked, frequencies: [], vectors: Buffer.of() };
    const answer = await shard.servers.ask(
      {
        path: ["shard", "prepare"],
        body: { digest: shard.digest, words, vectors },
        expect: preparedSchema(),
        flaw: (prepared) => preparedFlaw(prepared, asked, shard),
      },
      signal,
    );
    return { ...answer, place, ...asked, vectors: Buffer.from(answer.vectors, "base64") };
  });
  checkDims(answers, whole);
  const inPlace = [...answers].sort((a, b) => a.place - b.place);
  const ofShards = answers.map(({ frequencies }) => frequencies);
  return {
    ofShards,
    frequencies: words.map((_, q) =>
      sumOf(
        ofShards.map((each) => each[q] ?? []),
        whole,
      ),
    ),
    vectors: Buffer.concat(inPlace.map(({ vectors }) => vectors)).toString("base64"),
  };
}

/** @throws Fault where shards embed into vectors of different lengths */
function checkDims(
  answers: readonly { readonly numVectors: number; readonly vectors: Buffer }[],
  { shards }: Whole,
): void {
  const dims = answers.map(({ numVectors, vectors }) => vectors.length / 4 / numVectors);
  const first = dims.findIndex((dim) => !Number.isNaN(dim));
  const other = dims.findIndex((dim) => !Number.isNaN(dim) && dim !== dims[first]);
  if (other < 0) return;
  const expected = `vectors of ${dims[first]} numbers, as ${shards[first]?.servers.name} makes them`;
  throw new Fault(`${shards[other]?.servers.name}: expected ${expected}, got ${dims[other]}`);
}

/** Adds up what shards say of the terms of one query. */
function sumOf(lists: readonly (readonly number[])[], { shards }: Whole): number[] {
  const [first = []] = lists;
  const other = lists.findIndex(({ length }) => length !== first.length);
  if (other >= 0) {
    const name = shards[other]?.servers.name;
    const lengths = `${first.length} terms of a query, as the first shard does, got ${lists[other]?.length}`;
    throw new Fault(`${name}: expected ${lengths}; all servers must run the same version`);
  }
  return first.map((_, term) => lists.reduce((sum, own) => sum + (own[term] ?? 0), 0));
}

/** The best of all shards, ranked as one index ranks them. */
function merged(found: readonly Columns[], query: number, whole: Whole, topK: number): RowHit[] {
  const hits = found.flatMap(({ rows, scores }, shard) => {
    const first = whole.shards[shard]?.first ?? 0;
    return (rows[query] ?? []).map((row, i) => ({ row: first + row, score: scores[query]?.[i] ?? 0 }));
  });
  return hits.sort(byScore).slice(0, topK);
}

/** Rankings of the whole. */
async function findRows(whole: Whole, asked: Asked): Promise<RowHit[][]> {
  const { queries, topK, signal } = asked;
  const { mode, numPassages, numTerms } = whole;
  const prepared = await prepare(whole, asked);
  const depth = mode === "hybrid" ? Math.max(topK, fusedDepth) : topK;
  const { frequencies, ofShards } = prepared;
  const words = mode === "dense" ? undefined : { queries, numPassages, numTerms, frequencies };
  const vectors = mode === "bm25" ? undefined : prepared.vectors;
  const answers = await ofEach(whole, (shard, i) => {
    const numVectors = vectors === undefined ? 0 : queries.length;
    const bounds = { depth, words: words && ofShards[i], numVectors };
    return shard.servers.ask(
      {
        path: ["shard", "find"],
        body: { digest: shard.digest, topK: depth, words, vectors },
        expect: foundSchema(),
        flaw: (found) => foundFlaw(found, bounds, shard),
      },
      signal,
    );
  });
  const byWords = answers.flatMap((answer) => answer.words ?? []);
  const byVectors = answers.flatMap((answer) => answer.vectors ?? []);
  return queries.map((_, q) => {
    const [first, second] = [byWords, byVectors].map((each) => merged(each, q, whole, depth));
    if (mode === "dense") return second ?? [];
    // An index gives its scores by words rounded to f32; they are compared before.
    if (mode === "bm25") return (first ?? []).map(({ row, score }) => ({ row, score: Math.fround(score) }));
    return fuseRows(first ?? [], second ?? [], topK);
  });
}

/** The passages of rows, each from the shard that holds it. */
async function readPassages(
  whole: Whole,
  rows: readonly number[],
  signal: AbortSignal | undefined,
): Promise<Map<number, Passage>> {
  const passages = new Map<number, Passage>();
  await ofEach(whole, async ({ servers, digest, first, passages: count }) => {
    const own = rows.filter((row) => row >= first && row < first + count);
    if (own.length === 0) return;
    const { passages: read } = await servers.ask(
      {
        path: ["shard", "passages"],
        body: { digest, rows: own.map((row) => row - first) },
        expect: passagesSchema(),
        flaw: ({ passages: { length } }) =>
          length === own.length ? undefined : `expected ${own.length} passages, got ${length}`,
      },
      signal,
    );
    for (const [i, row] of own.entries()) passages.set(row, read[i] as Passage);
  });
  return passages;
}

/** Hits of each query. @throws ERR_REMOTE naming the shard that failed; ERR_ABORTED */
export async function searchShards(whole: Whole, asked: Asked): Promise<Hit[][]> {
  const found = await findRows(whole, asked);
  const rows = [...new Set(found.flatMap((hits) => hits.map(({ row }) => row)))];
  const passages = await readPassages(whole, rows, asked.signal);
  return found.map((hits) =>
    hits.map(({ row, score }) => {
      const { id, title, text } = passages.get(row) as Passage;
      return { id, title, text, score };
    }),
  );
}
