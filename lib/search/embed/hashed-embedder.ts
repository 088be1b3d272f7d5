/** The built-in embedder: words and their letters, hashed; it needs no model. */
import type { Handle } from "../../base/addon/handle.ts";
import { native } from "../../base/addon/native.ts";
import { throwIfAborted } from "../../base/errors.ts";
import { type Analyser, usualAnalyser } from "../../text/analysis/words.ts";
import {
  cutBatches,
  cutTexts,
  type StreamOptions,
  type TextSource,
  type TextStream,
} from "../../text/words/lexicon.ts";
import type { Embedder, EmbedOptions } from "./embedder.ts";

/**
 * Hashes words, pairs of words and their letters into a fixed width, weighted by how rare each is in a corpus. It finds
 * names and rare words well and knows no synonyms.
 */
export class HashedEmbedder implements Embedder {
  readonly dim: number;
  #handle: Handle<"embedder">;
  readonly #analyser: Analyser;

  private constructor(embedder: Handle<"embedder">, analyser: Analyser) {
    this.#handle = embedder;
    this.#analyser = analyser;
    this.dim = native().embedderDim(embedder);
  }

  /** An embedder that knows no corpus: every word counts the same. @throws ERR_RANGE */
  static create({ dim = 512 }: { readonly dim?: number } = {}): HashedEmbedder {
    return new HashedEmbedder(native().embedderCreate(dim, undefined), usualAnalyser);
  }

  /**
   * Learns from a corpus how rare words are; words that it does not hold count for nothing.
   *
   * @param texts the corpus, read once: texts, or passages of a store
   * @param options `dim`: width, 8 to 65536, `@default 512`; `analyser`, `onProgress`, `signal`
   * @returns the embedder, to be closed
   * @throws ERR_RANGE for a width out of range; ERR_ABORTED when the signal fires
   */
  static async fit(
    texts: TextStream,
    {
      dim = 512,
      analyser = usualAnalyser,
      onProgress,
      signal,
    }: StreamOptions & { readonly dim?: number; readonly analyser?: Analyser } = {},
  ): Promise<HashedEmbedder> {
    const counter = native().idfCounterCreate();
    let done = 0;
    for await (const cut of cutBatches(texts, { signal, cut: (batch) => cutTexts(batch, analyser) })) {
      await native().idfCounterAdd(counter, cut.handle);
      done += cut.size;
      onProgress?.(done);
    }
    return new HashedEmbedder(native().embedderCreate(dim, counter), analyser);
  }

  /**
   * Reads a saved embedder.
   *
   * @param path what `save` wrote
   * @param options `verify`: checks every byte, `@default true`; `false` for a file that is known to be good;
   * `analyser`: the one that it was fitted with, `@default usualAnalyser`
   * @returns the embedder, to be closed
   * @throws ERR_IO when it cannot be read, ERR_FORMAT when it is damaged or something else
   */
  static async open(
    path: string,
    {
      verify = true,
      analyser = usualAnalyser,
    }: { readonly verify?: boolean; readonly analyser?: Analyser } = {},
  ): Promise<HashedEmbedder> {
    return new HashedEmbedder(await native().embedderOpen(path, verify), analyser);
  }

  /**
   * Vectors of length one; zeros for a text of which nothing is known.
   *
   * @param texts passages, or their numbers in a store
   * @param options `signal`: heeded before the work begins
   * @returns f32 [N, dim], row-major
   * @throws ERR_STATE after close, ERR_ABORTED
   */
  async embedPassages(texts: TextSource, { signal }: EmbedOptions = {}): Promise<Float32Array> {
    throwIfAborted(signal, "embedder");
    using cut = await cutTexts(texts, this.#analyser);
    return await native().embedderEmbed(this.#handle, cut.handle);
  }

  /** Queries are embedded as passages are. @throws ERR_STATE after close, ERR_ABORTED */
  async embedQueries(texts: readonly string[], options: EmbedOptions = {}): Promise<Float32Array> {
    return this.embedPassages(texts, options);
  }

  /** Writes it, whole or not at all. @throws ERR_IO */
  async save(path: string): Promise<void> {
    await native().embedderSave(this.#handle, path);
  }

  /** Frees the memory; later calls reject with ERR_STATE. */
  close(): void {
    native().embedderClose(this.#handle);
  }
}
