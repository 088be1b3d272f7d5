/** BM25 over the terms of passages: built in bounded memory, searched from mapped files. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Handle, NativeHits } from "../base/addon/handle.ts";
import { native } from "../base/addon/native.ts";
import { SeekError } from "../base/errors.ts";
import { breathe } from "../base/slices/breathe.ts";
import { type Analyser, queryText, usualAnalyser } from "../text/analysis/words.ts";
import {
  type CutTexts,
  cutBatches,
  cutTexts,
  type StreamOptions,
  type TextStream,
} from "../text/words/lexicon.ts";

/** The two parameters of the formula. */
export interface Bm25Options {
  /** How slowly repetition of a term saturates, at least 0. @default 1.2 */
  readonly k1?: number;
  /** How much long passages are discounted, 0 to 1. @default 0.75 */
  readonly b?: number;
}

/** How to build. */
export interface Bm25BuildOptions extends Bm25Options {
  /** How texts are cut; who opens the index must know it. @default usualAnalyser */
  readonly analyser?: Analyser;
  /** Bytes of memory, about; what exceeds them waits on disk. @default 256 MiB */
  readonly maxBytes?: number;
  /** An existing folder whose disk takes it: 3 bytes for each different term of each passage. @default os.tmpdir() */
  readonly scratch?: string;
}

/** Collects the terms of passages, numbered from 0. */
export class Bm25Builder {
  #handle: Handle<"bm25Builder">;
  readonly #analyser: Analyser;

  /** @throws ERR_RANGE */
  constructor({
    k1 = 1.2,
    b = 0.75,
    maxBytes = 2 ** 28,
    scratch = tmpdir(),
    analyser = usualAnalyser,
  }: Bm25BuildOptions = {}) {
    this.#analyser = analyser;
    this.#handle = native().bm25BuilderCreate(k1, b, join(scratch, "bm25"), maxBytes);
  }

  /**
   * Adds passages after those already there; wait for it before the next call.
   *
   * @param texts any number of texts, or passages of a store, which never cross into JavaScript
   * @param options `onProgress` gets how many are added, every thousand; `signal`
   * @throws ERR_STATE after `save` or `close`, ERR_IO when the disk is full, ERR_ABORTED
   */
  async add(texts: TextStream, { onProgress, signal }: StreamOptions = {}): Promise<void> {
    let done = 0;
    for await (const cut of cutBatches(texts, { signal, cut: (batch) => cutTexts(batch, this.#analyser) })) {
      await native().bm25BuilderAdd(this.#handle, cut.handle);
      done += cut.size;
      onProgress?.(done);
    }
  }

  /** Writes the index, whole or not at all; nothing can be added any more. @throws ERR_IO, ERR_STATE */
  async save(path: string): Promise<void> {
    await native().bm25BuilderSave(this.#handle, path);
  }

  /** Frees the memory; later calls reject with ERR_STATE. */
  close(): void {
    native().bm25BuilderClose(this.#handle);
  }
}

/** A corpus that an index holds a part of. */
export interface Bm25Whole {
  readonly numPassages: number;
  /** In all its passages together, repeats included. */
  readonly numTerms: number;
}

/** In how many passages the terms of queries stand. */
export interface TermFrequencies {
  /** Different terms of each query. */
  readonly counts: Int32Array;
  /** Of each of these, query after query. */
  readonly frequencies: Float64Array;
}

/** A saved BM25 index, or several as one. The formula stands in native/search/words/bm25.h. */
export class Bm25Index {
  #handle: Handle<"bm25Index">;
  readonly #analyser: Analyser;

  private constructor(index: Handle<"bm25Index">, analyser: Analyser) {
    this.#handle = index;
    this.#analyser = analyser;
  }

  /**
   * Maps the file.
   *
   * @param path what `Bm25Builder.save` wrote
   * @param options `verify`: checks every byte, `@default true`; `false` for a file that is known to be good;
   * `analyser`: the one that it was built with, `@default usualAnalyser`
   * @returns the index, to be closed
   * @throws ERR_IO when it cannot be read, ERR_FORMAT when it is damaged or something else
   */
  static async open(
    path: string,
    {
      verify = true,
      analyser = usualAnalyser,
    }: { readonly verify?: boolean; readonly analyser?: Analyser } = {},
  ): Promise<Bm25Index> {
    return new Bm25Index(await native().bm25IndexOpen(path, verify), analyser);
  }

  /**
   * Several indexes as one. Document frequencies and the average length are those of all together, so that the hits
   * and their scores are exactly those of one index over the same passages.
   *
   * @param indexes in the order in which their passages are numbered on; they may be closed afterwards
   * @param options `excluded`: numbers of passages, in the whole, that are never found, though frequencies count them
   * @returns the whole, to be closed
   * @throws ERR_ARGUMENT for no index and for indexes with different options or analysers, ERR_RANGE for a number out of range
   * @example
   * const builder = new Bm25Builder();
   * await builder.add(["the capital of France", "the capital of Peru"]);
   * await builder.save("bm25.bin");
   * const index = await Bm25Index.open("bm25.bin");
   * const { ids } = await Bm25Index.join([index, index]).search(["Peru"], { topK: 2 }); // 1 and 3
   */
  static join(
    indexes: readonly Bm25Index[],
    { excluded = new Int32Array() }: { readonly excluded?: Int32Array } = {},
  ): Bm25Index {
    const handles = indexes.map((index) => index.#handle);
    const joined = native().bm25IndexJoin(handles, excluded);
    const [first = usualAnalyser, ...others] = indexes.map((index) => index.#analyser);
    const other = others.find(({ rules, language }) => rules !== first.rules || language !== first.language);
    if (other === undefined) return new Bm25Index(joined, first);
    throw new SeekError(
      "ERR_ARGUMENT",
      `indexes: expected the language and rules of the first, ${first.language} and ${first.rules}, got ${other.language} and ${other.rules}`,
    );
  }

  /** How many passages it holds. @throws ERR_STATE after close */
  get size(): number {
    return native().bm25IndexCount(this.#handle);
  }

  /**
   * The passages with the highest sum over the query's terms; queries are spread over all cores.
   *
   * @param queries plain text
   * @param options `topK` at most `size`; `stops`: whether stop words count where a query has no others, `@default true`
   * @returns ids (-1 where fewer passages share a term) and scores, each [Q, topK], best first; among equals the lower id
   * @throws ERR_RANGE, ERR_STATE after close
   */
  async search(
    queries: readonly string[],
    { topK, stops = true }: { readonly topK: number; readonly stops?: boolean },
  ): Promise<NativeHits> {
    using cut = await this.#cut(queries, stops);
    return await native().bm25IndexSearch(this.#handle, cut.handle, topK);
  }

  /** How many terms its passages have together, repeats included. @throws ERR_STATE after close */
  get numTerms(): number {
    return native().bm25IndexNumTerms(this.#handle);
  }

  /**
   * In how many passages of this index each different term of the queries stands.
   *
   * @param queries plain text
   * @returns what an index that holds another part of the same corpus adds its own to
   * @throws ERR_STATE after close
   */
  async frequencies(queries: readonly string[]): Promise<TermFrequencies> {
    using cut = await this.#cut(queries);
    return await native().bm25IndexFrequencies(this.#handle, cut.handle);
  }

  /**
   * The same index as a part of a larger one, for {@link searchPart}: the average length is the whole's.
   *
   * @param whole all parts together
   * @returns the part, to be closed
   * @throws ERR_RANGE for a whole that is smaller than the part, ERR_STATE after close
   */
  async within({ numPassages, numTerms }: Bm25Whole): Promise<Bm25Index> {
    return new Bm25Index(await native().bm25IndexWithin(this.#handle, numPassages, numTerms), this.#analyser);
  }

  /**
   * What {@link search} of the whole finds in this part: the same scores, but in double, so that they compare with those
   * of the other parts as the whole compares them.
   *
   * @param queries plain text
   * @param options `topK` at most `size`; `whole`: the sum of all parts' {@link frequencies} of the same queries
   * @returns ids in this part and scores, each [Q, topK], as `search` does
   * @throws ERR_RANGE; ERR_ARGUMENT for frequencies of other queries; ERR_STATE after close
   * @example
   * const builder = new Bm25Builder();
   * await builder.add(["the capital of France", "the capital of Peru"]);
   * await builder.save("half.bin");
   * const half = await Bm25Index.open("half.bin");
   * const part = await half.within({ numPassages: 4, numTerms: 8 });
   * const { counts, frequencies } = await half.frequencies(["Peru"]); // in one passage here
   * const whole = { counts, frequencies: frequencies.map((each) => 2 * each) };
   * const { ids } = await part.searchPart(["Peru"], { topK: 1, whole }); // 1
   */
  async searchPart(
    queries: readonly string[],
    { topK, whole }: { readonly topK: number; readonly whole: TermFrequencies },
  ): Promise<{ readonly ids: Int32Array; readonly scores: Float64Array }> {
    using cut = await this.#cut(queries);
    const { counts, frequencies } = whole;
    return await native().bm25IndexSearchPart(this.#handle, cut.handle, topK, counts, frequencies);
  }

  /** Unmaps the file once running searches have ended; later calls reject with ERR_STATE. */
  close(): void {
    native().bm25IndexClose(this.#handle);
  }

  async #cut(queries: readonly string[], stops = true): Promise<CutTexts> {
    const analyser = stops ? this.#analyser : { ...this.#analyser, stops };
    const texts: string[] = [];
    for (const query of queries) {
      await breathe();
      texts.push(queryText(query, analyser));
    }
    return cutTexts(texts, analyser);
  }
}
