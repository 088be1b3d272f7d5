/** Texts as words: the lexicon, phrases, BM25 and the hashed embedder. */
import type { Handle, NativeHits } from "./handle.ts";

/** Texts that are cut, and the tokens that must be learnt before they can be used: a line each. */
interface NativeCut {
  readonly cut: Handle<"cutTexts">;
  readonly unknown: string;
}

/** Words and terms, the exports of native/node/search/lexicon_api.cpp. */
export interface NativeLexicon {
  lexiconCreate(separators: "words" | "spaces"): Handle<"lexicon">;
  lexiconBytes(lexicon: Handle<"lexicon">): number;
  lexiconCut(lexicon: Handle<"lexicon">, texts: readonly string[]): Promise<NativeCut>;
  /** `count` passages from `first` on: title before text, or the text alone. */
  lexiconCutPassages(
    lexicon: Handle<"lexicon">,
    store: Handle<"passageStore">,
    first: number,
    count: number,
    hasTitle: boolean,
  ): Promise<NativeCut>;
  /** Of each a line for each unknown token, in its order, with spaces between words or terms. */
  cutLearn(
    cut: Handle<"cutTexts">,
    words: string,
    terms: string,
    letters: string,
    stops: string,
  ): Promise<void>;
  /** The words of each text, with spaces between. */
  cutWords(cut: Handle<"cutTexts">): string[];
  cutClose(cut: Handle<"cutTexts">): void;
  phrasesCreate(phrases: Handle<"cutTexts">): Handle<"phrases">;
  phrasesMark(phrases: Handle<"phrases">, texts: Handle<"cutTexts">): Promise<void>;
  phrasesMarked(phrases: Handle<"phrases">): Uint8Array;
  /** Pairs of a text's number and a phrase's. */
  phrasesIn(phrases: Handle<"phrases">, texts: Handle<"cutTexts">): Promise<Int32Array>;
}

/** BM25, the exports of native/node/search/bm25_api.cpp. */
export interface NativeBm25 {
  /** `scratch`: a path on the file system that takes what does not fit into `maxBytes`. */
  bm25BuilderCreate(k1: number, b: number, scratch: string, maxBytes: number): Handle<"bm25Builder">;
  bm25BuilderAdd(builder: Handle<"bm25Builder">, passages: Handle<"cutTexts">): Promise<void>;
  bm25BuilderSave(builder: Handle<"bm25Builder">, path: string): Promise<void>;
  bm25BuilderClose(builder: Handle<"bm25Builder">): void;
  bm25IndexOpen(path: string, verify: boolean): Promise<Handle<"bm25Index">>;
  /** Several as one: passages are numbered on from index to index; those in `excluded` are never found. */
  bm25IndexJoin(indexes: readonly Handle<"bm25Index">[], excluded: Int32Array): Handle<"bm25Index">;
  bm25IndexSearch(index: Handle<"bm25Index">, queries: Handle<"cutTexts">, topK: number): Promise<NativeHits>;
  /** Of each query how many different terms it has, and in how many passages each stands: query after query. */
  bm25IndexFrequencies(
    index: Handle<"bm25Index">,
    queries: Handle<"cutTexts">,
  ): Promise<{ readonly counts: Int32Array; readonly frequencies: Float64Array }>;
  /** The same index as a part of a whole with so many passages, which have so many terms. */
  bm25IndexWithin(
    index: Handle<"bm25Index">,
    numPassages: number,
    numTerms: number,
  ): Promise<Handle<"bm25Index">>;
  /** Scores under the whole's frequencies, not rounded. */
  bm25IndexSearchPart(
    index: Handle<"bm25Index">,
    queries: Handle<"cutTexts">,
    topK: number,
    counts: Int32Array,
    frequencies: Float64Array,
  ): Promise<{ readonly ids: Int32Array; readonly scores: Float64Array }>;
  bm25IndexNumTerms(index: Handle<"bm25Index">): number;
  bm25IndexCount(index: Handle<"bm25Index">): number;
  bm25IndexClose(index: Handle<"bm25Index">): void;
}

/** The hashed embedder, the exports of native/node/search/embedder_api.cpp. */
export interface NativeHashedEmbedder {
  idfCounterCreate(): Handle<"idfCounter">;
  idfCounterAdd(counter: Handle<"idfCounter">, texts: Handle<"cutTexts">): Promise<void>;
  embedderCreate(dim: number, counter: Handle<"idfCounter"> | undefined): Handle<"embedder">;
  embedderOpen(path: string, verify: boolean): Promise<Handle<"embedder">>;
  embedderEmbed(embedder: Handle<"embedder">, texts: Handle<"cutTexts">): Promise<Float32Array>;
  embedderSave(embedder: Handle<"embedder">, path: string): Promise<void>;
  embedderDim(embedder: Handle<"embedder">): number;
  embedderClose(embedder: Handle<"embedder">): void;
}
