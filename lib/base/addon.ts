/** The face of the native addon, one interface per area; nothing above `lib` ever sees these types. */

/** Settings of the process as a whole. */
export interface NativeProcess {
  /** Version of the libtorch the addon was built against, for example `2.13.0`. */
  torchVersion(): string;
  /** Bounds the threads of tensor work. */
  setNumThreads(numThreads: number): Promise<void>;
}

/** A tensor inside a safetensors file; `offset` counts from the beginning of the file. */
export interface NativeStoredTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly path: string;
  readonly offset: number;
}

/** A decoder's native handle: empty until `load`, `create` or `copyFrom`, and after `close`. */
export interface NativeModel {
  load(
    config: object,
    options: { dtype: string; device: string },
    tensors: readonly NativeStoredTensor[],
  ): Promise<void>;
  create(
    config: object,
    options: { dtype: string; device: string; seed: number; std: number },
  ): Promise<void>;
  copyFrom(source: NativeModel): Promise<void>;
  /** Writes header and tensors to a file that replaces `path` when complete; `dtype` is `F32`, `BF16` or `F16`. */
  write(path: string, header: Uint8Array, names: readonly string[], dtype: string): Promise<void>;
  tensors(): { name: string; shape: number[] }[];
  weightsVersion(): number;
  parameter(name: string): Promise<Float32Array>;
  /** One number fewer than ids. */
  scoreLogprobs(ids: Int32Array): Promise<Float32Array>;
  close(): void;
}

/** Models, the exports of native/node/model_api.cpp. */
export interface NativeModels {
  readonly ModelHandle: new () => NativeModel;
}

/** What an engine tells after a step: one entry per sequence with news, their tokens one after another. */
export interface NativeEngineEvent {
  readonly sequences: Int32Array;
  /** Tokens of each entry. */
  readonly counts: Int32Array;
  /** 0 goes on, 1 length, 2 stop id, 3 stop string, 4 aborted, 5 failed. */
  readonly finishes: Int32Array;
  readonly stopIndices: Int32Array;
  readonly cutBytes: Int32Array;
  readonly versions: Int32Array;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  /** As many, when any entry has them, else none. */
  readonly entropies: Float32Array;
  readonly error?: Error & { readonly code?: string };
}

/** An engine's native handle; commands return at once and their outcome comes as events. */
export interface NativeEngine {
  start(
    model: NativeModel,
    options: {
      numBlocks: number;
      blockTokens: number;
      maxTokens: number;
      maxBatchTokens: number;
      maxBatchRows: number;
    },
    vocabulary: { bytes: Uint8Array; starts: Int32Array },
  ): Promise<void>;
  open(id: number, ids: Int32Array, seed: number): void;
  fork(id: number, child: number, seed: number): void;
  append(id: number, ids: Int32Array): void;
  truncate(id: number, length: number, seed: number | undefined): void;
  generate(
    id: number,
    options: {
      maxTokens: number;
      temperature: number;
      topP: number;
      topK: number;
      stop: readonly string[];
      stopIds: Int32Array;
      isStreamed: boolean;
      entropies: boolean;
    },
  ): void;
  score(id: number, ids: Int32Array): void;
  cancel(id: number): void;
  closeSequence(id: number): void;
  /** Counters by name, see lib/engine. */
  stats(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

/** Engines, the exports of native/node/engine_api.cpp. */
export interface NativeEngines {
  readonly EngineHandle: new (listener: (event: NativeEngineEvent) => void) => NativeEngine;
}

/** A packed micro-batch; every array but the first two has one entry per row, `[R]`. */
export interface NativeBatch {
  /** Ids of all sequences, end to end, `[T]`. */
  readonly tokens: Int32Array;
  /** `[S + 1]` offsets into the tokens, the last one `T`. */
  readonly spanStarts: Int32Array;
  /** Positions whose next token is trained. */
  readonly rows: Int32Array;
  /** The sequence of each row, counted from 0. */
  readonly sequences?: Int32Array;
  readonly weights?: Float32Array;
  readonly advantages?: Float32Array;
  readonly oldLogprobs?: Float32Array;
  readonly rolloutLogprobs?: Float32Array;
  readonly referenceLogprobs?: Float32Array;
  readonly returns?: Float32Array;
  readonly oldValues?: Float32Array;
}

/** AdamW's settings (native/train/adamw.h). */
export interface NativeAdamW {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  readonly decayVectors: boolean;
  readonly maxGradNorm: number;
}

/** The policy loss's settings (native/train/loss.h). */
export interface NativeLossOptions {
  readonly objective: string;
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly entropyCoef: number;
  readonly klEstimator: string;
  readonly klCoef: number;
  readonly temperature: number;
}

/** Sums over the rows of a micro-batch (native/train/loss.h). */
export interface NativeLossStats {
  readonly loss: number;
  readonly policy: number;
  readonly numRows: number;
  readonly entropy: number;
  readonly kl: number;
  readonly approxKl: number;
  readonly numClipped: number;
  readonly gap: number;
  readonly gapMax: number;
}

/** Sums over the rows of a micro-batch, of the critic. */
export interface NativeValueStats {
  readonly loss: number;
  readonly numRows: number;
  readonly numClipped: number;
  readonly values: number;
}

/** What the handles of policy and critic share. */
export interface NativeLearner {
  open(model: NativeModel, optimiser: NativeAdamW): Promise<void>;
  /** The global gradient norm before clipping. */
  step(learningRate: number): Promise<number>;
  zeroGradients(): Promise<void>;
  gradient(name: string): Promise<Float32Array>;
  stateTensors(): { name: string; shape: number[] }[];
  writeState(path: string, header: Uint8Array): Promise<void>;
  readState(tensors: readonly NativeStoredTensor[], numSteps: number): Promise<void>;
  close(): void;
}

/** The policy's trainer. */
export interface NativeTrainer extends NativeLearner {
  accumulate(batch: NativeBatch, loss: NativeLossOptions): Promise<NativeLossStats>;
}

/** The critic. */
export interface NativeCritic extends NativeLearner {
  values(batch: NativeBatch): Promise<Float32Array>;
  accumulate(batch: NativeBatch, clip: number): Promise<NativeValueStats>;
}

/** Training, the exports of native/node/train_api.cpp. */
export interface NativeTraining {
  readonly TrainerHandle: new () => NativeTrainer;
  readonly CriticHandle: new () => NativeCritic;
  /** Replaces a model's weights in place. */
  readWeights(model: NativeModel, tensors: readonly NativeStoredTensor[]): Promise<void>;
  /** Log-probability of each row's next token and the entropy of its distribution. */
  tokenLogprobs(
    model: NativeModel,
    batch: NativeBatch,
    temperature: number,
  ): Promise<{ logprobs: Float32Array; entropies: Float32Array }>;
}

declare const handle: unique symbol;

/** A native object that JavaScript only passes back. */
export interface Handle<Name extends string> {
  readonly [handle]: Name;
}

/** Ids (int32 [Q, K], -1 where there are fewer) and scores (f32 [Q, K]) of Q queries, best first. */
export interface NativeHits {
  readonly ids: Int32Array;
  readonly scores: Float32Array;
}

/** What native/search/passages/corpus_stats.h counts; passages by number, repeats as pairs of first and again. */
export interface NativeCorpusSummary {
  readonly numPassages: number;
  readonly numWords: number;
  readonly numLongestWords: number;
  readonly numEmpty: number;
  readonly numOverLong: number;
  readonly numRepeats: number;
  readonly empty: Int32Array;
  readonly overLong: Int32Array;
  readonly repeats: Int32Array;
}

/** Statistics of a corpus, the exports of native/node/corpus_api.cpp. */
export interface NativeCorpus {
  corpusStatsCreate(maxWords: number): Handle<"corpusStats">;
  /** Each text ends with NUL. */
  corpusStatsAdd(stats: Handle<"corpusStats">, texts: string): Promise<void>;
  corpusStatsAddStored(
    stats: Handle<"corpusStats">,
    store: Handle<"passageStore">,
    begin: number,
    end: number,
  ): Promise<void>;
  corpusStatsSummary(stats: Handle<"corpusStats">, numExamples: number): Promise<NativeCorpusSummary>;
  corpusStatsClose(stats: Handle<"corpusStats">): void;
}

/** Passages, the exports of native/node/passage_api.cpp. A passage crosses as three strings: id, title, text. */
export interface NativePassages {
  passageWriterCreate(path: string): Handle<"passageWriter">;
  passageWriterAdd(writer: Handle<"passageWriter">, fields: readonly string[]): Promise<void>;
  passageWriterFinish(writer: Handle<"passageWriter">): Promise<void>;
  passageWriterClose(writer: Handle<"passageWriter">): void;
  passageStoreOpen(path: string, verify: boolean): Promise<Handle<"passageStore">>;
  passageStoreCount(store: Handle<"passageStore">): number;
  passageStoreGet(store: Handle<"passageStore">, index: number): string[];
  passageStoreGetMany(store: Handle<"passageStore">, indices: Int32Array): Promise<string[]>;
  /** The lowest number of a passage with each id, -1 where there is none. */
  passageStoreFind(store: Handle<"passageStore">, ids: readonly string[]): Promise<Int32Array>;
  passageStoreClose(store: Handle<"passageStore">): void;
}

/** What index folders need beside their indexes, the exports of native/node/folder_api.cpp. */
export interface NativeFolders {
  /** ERR_STATE when another holder has it; the lock ends with the process at the latest. */
  fileLockTake(path: string): Handle<"fileLock">;
  fileLockClose(lock: Handle<"fileLock">): void;
  /** Ids that stand more than once in all stores together, passages whose numbers are in `removed` left out. */
  repeatedPassageIds(
    stores: readonly Handle<"passageStore">[],
    removed: readonly Int32Array[],
    limit: number,
  ): Promise<string[]>;
}

/** Words and terms, the exports of native/node/lexicon_api.cpp. */
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
  /** One line for each unknown token, in its order, with spaces between words and between terms. */
  cutLearn(cut: Handle<"cutTexts">, words: string, terms: string): Promise<void>;
  /** The words of each text, with spaces between. */
  cutWords(cut: Handle<"cutTexts">): string[];
  cutClose(cut: Handle<"cutTexts">): void;
  phrasesCreate(phrases: Handle<"cutTexts">): Handle<"phrases">;
  phrasesMark(phrases: Handle<"phrases">, texts: Handle<"cutTexts">): Promise<void>;
  phrasesMarked(phrases: Handle<"phrases">): Uint8Array;
  /** Pairs of a text's number and a phrase's. */
  phrasesIn(phrases: Handle<"phrases">, texts: Handle<"cutTexts">): Promise<Int32Array>;
}

/** Texts that are cut, and the tokens that must be learnt before they can be used: a line each. */
export interface NativeCut {
  readonly cut: Handle<"cutTexts">;
  readonly unknown: string;
}

/** Search, the exports that native/node/search_api.h declares. */
export interface NativeSearch {
  vectorIndexCreate(options: object): Handle<"vectorIndex">;
  /** `verify`, here and below: reads and checks every byte of the file, not its header alone. */
  vectorIndexOpen(
    path: string,
    kind: string,
    verify: boolean,
    capacity: number | undefined,
  ): Promise<Handle<"vectorIndex">>;
  /** Rows from `first` on. */
  vectorIndexAdd(index: Handle<"vectorIndex">, first: number, vectors: Float32Array): Promise<void>;
  /** The rows [begin, end) of another index that are not removed, from `first` on; how many there were. */
  vectorIndexAddRows(
    index: Handle<"vectorIndex">,
    first: number,
    source: Handle<"vectorIndex">,
    begin: number,
    end: number,
  ): Promise<number>;
  vectorIndexRemove(index: Handle<"vectorIndex">, ids: Int32Array): void;
  vectorIndexRead(index: Handle<"vectorIndex">, first: number, count: number): Promise<Float32Array>;
  vectorIndexSearch(
    index: Handle<"vectorIndex">,
    queries: Float32Array,
    options: { topK: number; expansion: number; overFetch: number; exact: boolean },
    allowed: Uint8Array | undefined,
    rescore: Handle<"vectorIndex"> | undefined,
  ): Promise<NativeHits>;
  vectorIndexSave(index: Handle<"vectorIndex">, path: string): Promise<void>;
  vectorIndexInfo(index: Handle<"vectorIndex">): { count: number; dim: number; numRemoved: number };
  vectorIndexClose(index: Handle<"vectorIndex">): void;
  vectorRowsWriterOpen(path: string, format: object): Promise<Handle<"vectorRowsWriter">>;
  vectorRowsWriterAdd(writer: Handle<"vectorRowsWriter">, vectors: Float32Array): Promise<void>;
  vectorRowsWriterCount(writer: Handle<"vectorRowsWriter">): number;
  vectorRowsWriterFinish(writer: Handle<"vectorRowsWriter">): Promise<void>;
  vectorRowsWriterClose(writer: Handle<"vectorRowsWriter">): void;
  /** `scratch`: a path on the file system that takes what does not fit into `maxBytes`. */
  bm25BuilderCreate(k1: number, b: number, scratch: string, maxBytes: number): Handle<"bm25Builder">;
  bm25BuilderAdd(builder: Handle<"bm25Builder">, passages: Handle<"cutTexts">): Promise<void>;
  bm25BuilderSave(builder: Handle<"bm25Builder">, path: string): Promise<void>;
  bm25BuilderClose(builder: Handle<"bm25Builder">): void;
  bm25IndexOpen(path: string, verify: boolean): Promise<Handle<"bm25Index">>;
  /** Several as one: passages are numbered on from index to index; those in `excluded` are never found. */
  bm25IndexJoin(indexes: readonly Handle<"bm25Index">[], excluded: Int32Array): Handle<"bm25Index">;
  bm25IndexSearch(index: Handle<"bm25Index">, queries: Handle<"cutTexts">, topK: number): Promise<NativeHits>;
  bm25IndexCount(index: Handle<"bm25Index">): number;
  bm25IndexClose(index: Handle<"bm25Index">): void;
  idfCounterCreate(): Handle<"idfCounter">;
  idfCounterAdd(counter: Handle<"idfCounter">, texts: Handle<"cutTexts">): Promise<void>;
  embedderCreate(dim: number, counter: Handle<"idfCounter"> | undefined): Handle<"embedder">;
  embedderOpen(path: string, verify: boolean): Promise<Handle<"embedder">>;
  embedderEmbed(embedder: Handle<"embedder">, texts: Handle<"cutTexts">): Promise<Float32Array>;
  embedderSave(embedder: Handle<"embedder">, path: string): Promise<void>;
  embedderDim(embedder: Handle<"embedder">): number;
  embedderClose(embedder: Handle<"embedder">): void;
}

/** Encoders, the exports of native/node/encoder_api.cpp. */
export interface NativeEncoders {
  encoderOpen(
    config: object,
    options: { dtype: string; pooling: string; isNormalised: boolean },
    tensors: readonly NativeStoredTensor[],
  ): Promise<Handle<"encoder">>;
  encoderOpenDecoder(
    config: object,
    options: { dtype: string; device: string; pooling: string; isNormalised: boolean },
    tensors: readonly NativeStoredTensor[],
  ): Promise<Handle<"encoder">>;
  /** One vector per text; text s has the ids from `starts[s]` to `starts[s + 1]`. */
  encoderEncode(
    encoder: Handle<"encoder">,
    ids: Int32Array,
    starts: Int32Array,
    types: Int32Array | undefined,
  ): Promise<Float32Array>;
  encoderDim(encoder: Handle<"encoder">): number;
  encoderClose(encoder: Handle<"encoder">): void;
}

/** Everything the addon exports. */
export type Addon = NativeProcess &
  NativeModels &
  NativeEngines &
  NativeTraining &
  NativePassages &
  NativeCorpus &
  NativeFolders &
  NativeLexicon &
  NativeSearch &
  NativeEncoders;
