/** The face of the native addon, one interface per area; nothing above `lib` ever sees these types. */

/** Settings of the process as a whole. */
export interface NativeProcess {
  /** Version of the libtorch the addon was built against, for example `2.13.0`. */
  torchVersion(): string;
  /** Bounds the threads of tensor work. */
  setNumThreads(numThreads: number): Promise<void>;
}

/** A decoder's native handle: empty until `load`, `create` or `copyFrom`, and after `close`. */
export interface NativeModel {
  load(
    config: object,
    options: { dtype: string; device: string },
    tensors: readonly {
      name: string;
      dtype: string;
      shape: readonly number[];
      path: string;
      offset: number;
    }[],
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
    },
  ): void;
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

/** Everything the addon exports. */
export type Addon = NativeProcess & NativeModels & NativeEngines;
