/** BM25 over the terms of passages: built in memory, searched from a mapped file. */
import type { Handle, NativeHits } from "../base/addon.ts";
import { native } from "../base/native.ts";
import { cutTexts, type TextSource } from "../text/lexicon.ts";

/** The two parameters of the formula. */
export interface Bm25Options {
  /** How slowly repetition of a term saturates, at least 0. @default 1.2 */
  readonly k1?: number;
  /** How much long passages are discounted, 0 to 1. @default 0.75 */
  readonly b?: number;
}

/** Collects the terms of passages, numbered from 0. */
export class Bm25Builder {
  #handle: Handle<"bm25Builder">;

  /** @throws ERR_RANGE */
  constructor({ k1 = 1.2, b = 0.75 }: Bm25Options = {}) {
    this.#handle = native.bm25BuilderCreate(k1, b);
  }

  /** Adds passages after those already there; wait for it before the next call. */
  async add(texts: TextSource): Promise<void> {
    using cut = await cutTexts(texts);
    await native.bm25BuilderAdd(this.#handle, cut.handle);
  }

  /** Computes the scores and writes the index, whole or not at all. @throws ERR_IO */
  async save(path: string): Promise<void> {
    await native.bm25BuilderSave(this.#handle, path);
  }

  /** Frees the memory; later calls reject with ERR_STATE. */
  close(): void {
    native.bm25BuilderClose(this.#handle);
  }
}

/** A saved BM25 index. The formula stands in native/search/bm25.h. */
export class Bm25Index {
  #handle: Handle<"bm25Index">;

  private constructor(index: Handle<"bm25Index">) {
    this.#handle = index;
  }

  /**
   * Maps the file.
   *
   * @param path what `save` wrote
   * @param options `verify`: reads and checks every byte, `@default true`; `false` for a file that is known to be good
   * @returns the index, to be closed
   * @throws ERR_IO when it cannot be read, ERR_FORMAT when it is damaged or something else
   */
  static async open(path: string, { verify = true }: { readonly verify?: boolean } = {}): Promise<Bm25Index> {
    return new Bm25Index(await native.bm25IndexOpen(path, verify));
  }

  /** How many passages it holds. @throws ERR_STATE after close */
  get size(): number {
    return native.bm25IndexCount(this.#handle);
  }

  /**
   * The passages with the highest sum over the query's terms; queries are spread over all cores.
   *
   * @param queries plain text
   * @param options `topK` at most `size`
   * @returns ids (-1 where fewer passages share a term) and scores, each [Q, topK], best first
   * @throws ERR_RANGE, ERR_STATE after close
   */
  async search(queries: readonly string[], { topK }: { readonly topK: number }): Promise<NativeHits> {
    using cut = await cutTexts(queries);
    return await native.bm25IndexSearch(this.#handle, cut.handle, topK);
  }

  /** Unmaps the file once running searches have ended; later calls reject with ERR_STATE. */
  close(): void {
    native.bm25IndexClose(this.#handle);
  }
}
