/** Passages, their statistics, and the folders they lie in. */
import type { Handle } from "./handle.ts";

/** Passages, the exports of native/node/search/passage_api.cpp. A passage crosses as three strings: id, title, text. */
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

/** Statistics of a corpus, the exports of native/node/search/corpus_api.cpp. */
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
