/** An opened index as a part of a larger one: what it adds to searches that span several. */
import { SeekError } from "../../../base/errors.ts";
import type { Bm25Index, Bm25Whole, TermFrequencies } from "../../bm25.ts";
import type { Passage } from "../../corpus/passage.ts";
import { type Finder, findNearest, type RowHit, readPassages, type SearchMode } from "../find.ts";
import type { IndexPart, Manifest } from "../manifest.ts";
import { digestOf, planOf } from "./plan.ts";

/** What an index says of itself to whoever searches several as one. */
interface ShardDescription {
  /** Of the manifest: another index has another. */
  readonly digest: string;
  /** Shards of one whole have the same settings and the same embedder, and so the same plan. */
  readonly plan: string;
  /** How it was opened to be searched. */
  readonly mode: SearchMode;
  /** Passages, removed ones included: rows are counted through all of them. */
  readonly passages: number;
  /** Passages that can be found. */
  readonly live: number;
  /** Whether each vector is compared; a graph may find fewer passages than are asked for. */
  readonly exact: boolean;
  /** Terms of its passages, for their average length; 0 without words. */
  readonly terms: number;
  /** Which share of a corpus it was built as. */
  readonly part: IndexPart | undefined;
}

/** What is looked for in a shard: by words, by vectors, or by both, each for itself. */
interface ShardQuestion {
  readonly topK: number;
  readonly words?:
    | {
        readonly queries: readonly string[];
        readonly whole: Bm25Whole;
        readonly frequencies: TermFrequencies;
      }
    | undefined;
  /** f32 [Q, dim]. */
  readonly vectors?: Float32Array | undefined;
}

/** The best of a shard for each query, numbered from its own first passage. */
interface ShardAnswer {
  /** Scores in double: those of several shards compare as those of one index do. */
  readonly words?: RowHit[][] | undefined;
  readonly vectors?: RowHit[][] | undefined;
}

/** What a shard is made of. */
interface ShardParts {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly finder: Finder;
}

/** A shard of an opened index; it lives as long as that is open. @internal */
export class IndexShard {
  readonly #parts: ShardParts;
  #description: Promise<ShardDescription> | undefined;
  /** The index by words within the whole that was asked for last. */
  #within: { readonly whole: Bm25Whole; readonly index: Promise<Bm25Index> } | undefined;

  constructor(parts: ShardParts) {
    this.#parts = parts;
  }

  /** What it is. @throws ERR_IO */
  describe(): Promise<ShardDescription> {
    this.#description ??= this.#describe();
    return this.#description;
  }

  async #describe(): Promise<ShardDescription> {
    const { folder, manifest, finder } = this.#parts;
    return {
      digest: digestOf(manifest),
      plan: await planOf(folder, manifest),
      mode: finder.mode,
      passages: manifest.segments.reduce((sum, { count }) => sum + count, 0),
      live: this.#numLive,
      exact: manifest.segments.every(({ vectors }) => vectors !== "hnsw"),
      terms: finder.bm25?.numTerms ?? 0,
      part: manifest.part,
    };
  }

  /** In how many passages the terms of queries stand. @throws ERR_ARGUMENT where words are not searched */
  async frequencies(queries: readonly string[]): Promise<TermFrequencies> {
    return this.#words().frequencies(queries);
  }

  /** Queries as f32 [Q, dim]. @throws ERR_ARGUMENT where vectors are not searched; ERR_ABORTED */
  async embed(queries: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    const { embedder } = this.#parts.finder;
    if (embedder === undefined) throw this.#missing("vectors");
    return embedder.embedQueries(queries, signal ? { signal } : {});
  }

  /** The best passages. @throws ERR_ARGUMENT for what is not searched here; ERR_RANGE, ERR_SHAPE */
  async find({ topK, words, vectors }: ShardQuestion): Promise<ShardAnswer> {
    const [byWords, byVectors] = await Promise.all([
      words && this.#findWords(words, topK),
      vectors && this.#findVectors(vectors, topK),
    ]);
    return { words: byWords, vectors: byVectors };
  }

  /** Passages by their rows. @throws ERR_RANGE for a row that is not there */
  async read(rows: readonly number[]): Promise<Passage[]> {
    const { passages } = await this.describe();
    const wrong = rows.find((row) => !(Number.isInteger(row) && row >= 0 && row < passages));
    if (wrong !== undefined)
      throw new SeekError("ERR_RANGE", `rows: expected 0 to ${passages - 1}, got ${wrong}`);
    const found = await readPassages(this.#parts.finder.segments, rows);
    return rows.map((row) => found.get(row) as Passage);
  }

  /** Gives back what it has made of the index. */
  close(): void {
    this.#within?.index.then((index) => index.close()).catch(() => {});
    this.#within = undefined;
  }

  get #numLive(): number {
    return this.#parts.finder.segments.reduce((sum, { numLive }) => sum + numLive, 0);
  }

  async #findWords(
    { queries, whole, frequencies }: NonNullable<ShardQuestion["words"]>,
    topK: number,
  ): Promise<RowHit[][]> {
    const asked = Math.min(topK, this.#numLive);
    if (asked === 0) return queries.map(() => []);
    const index = await this.#bm25Within(whole);
    const { ids, scores } = await index.searchPart(queries, { topK: asked, whole: frequencies });
    return queries.map((_, query) =>
      Array.from({ length: asked }, (_, i) => ({
        row: ids[query * asked + i] ?? -1,
        score: scores[query * asked + i] ?? 0,
      })).filter(({ row }) => row >= 0),
    );
  }

  async #findVectors(vectors: Float32Array, topK: number): Promise<RowHit[][]> {
    const { finder } = this.#parts;
    if (finder.embedder === undefined) throw this.#missing("vectors");
    const { dim } = finder.embedder;
    if (vectors.length % dim !== 0)
      throw new SeekError("ERR_SHAPE", `vectors: expected [Q, ${dim}], got ${vectors.length} numbers`);
    return findNearest(finder, { vectors, numQueries: vectors.length / dim }, topK);
  }

  // Searches that go on keep what they hold of an index that is closed.
  async #bm25Within(whole: Bm25Whole): Promise<Bm25Index> {
    const before = this.#within;
    const isSame = (["numPassages", "numTerms"] as const).every((key) => before?.whole[key] === whole[key]);
    if (before !== undefined && isSame) return before.index;
    const index = this.#words().within(whole);
    this.#within = { whole, index };
    index.catch(() => {
      if (this.#within?.index === index) this.#within = undefined;
    });
    return index;
  }

  #words(): Bm25Index {
    const { bm25 } = this.#parts.finder;
    if (bm25 === undefined) throw this.#missing("words");
    return bm25;
  }

  #missing(what: string): SeekError {
    const { folder, finder } = this.#parts;
    return new SeekError(
      "ERR_ARGUMENT",
      `${folder}: expected an index that is searched by ${what}, got mode ${finder.mode}`,
    );
  }
}
