/** Engines, and the events they send. */
import type { NativeAdapter, NativeModel } from "./models.ts";

/** Events of an engine's step: one entry per sequence that it changed, their tokens one after another. */
export interface NativeEngineEvent {
  readonly sequences: Int32Array;
  /** Tokens of each entry. */
  readonly counts: Int32Array;
  /** 0 goes on, 1 length, 2 stop id, 3 stop string, 4 aborted, 5 failed. */
  readonly finishes: Int32Array;
  readonly stopIndices: Int32Array;
  readonly cutBytes: Int32Array;
  readonly versions: Int32Array;
  /** Leading tokens that each entry's span did not run. */
  readonly reused: Int32Array;
  /** Most likely tokens listed for each token of the entry. */
  readonly topCounts: Int32Array;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  /** As many, when any entry has them, else none. */
  readonly entropies: Float32Array;
  /** Of all entries, as many for each of their tokens as `topCounts` says. */
  readonly topTokens: Int32Array;
  readonly topLogprobs: Float32Array;
  /** Why the entry of the same place failed; with holes. */
  readonly errors: readonly (Error & { readonly code?: string })[];
}

/** How much an engine holds and runs at once. */
export interface NativeEngineSizes {
  /** 0: what the bytes hold. */
  readonly numBlocks: number;
  /** 0: the usual ones on the CPU, on a GPU what there is. */
  readonly cacheBytes: number;
  readonly blockTokens: number;
  /** That a sequence may grow to, if the blocks can hold it. */
  readonly maxTokens: number;
  readonly maxBatchTokens: number;
  readonly maxBatchRows: number;
  readonly promptLookup: boolean;
  readonly cacheDtype: "model" | "e4m3";
}

/** How tokens are drawn, every default filled in. */
export interface NativeSampling {
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  readonly biasedIds: Int32Array;
  /** One for each of `biasedIds`. */
  readonly biases: Float32Array;
  readonly badWords: readonly Int32Array[];
}

/** An engine's native handle; commands return at once and their outcome comes as events. */
export interface NativeEngine {
  /** How long a sequence can grow. */
  start(
    model: NativeModel,
    sizes: NativeEngineSizes,
    /** `undrawn`: ids that are never drawn. */
    vocabulary: { bytes: Uint8Array; starts: Int32Array; undrawn?: Int32Array },
  ): Promise<number>;
  open(id: number, ids: Int32Array, seed: number, adapter: NativeAdapter | undefined): void;
  fork(id: number, child: number, seed: number): void;
  append(id: number, ids: Int32Array): void;
  truncate(id: number, length: number, seed: number | undefined): void;
  generate(
    id: number,
    options: {
      maxTokens: number;
      sampling: NativeSampling;
      stop: readonly string[];
      stopIds: Int32Array;
      isStreamed: boolean;
      entropies: boolean;
      /** How many of the most likely tokens are listed for each. */
      topLogprobs?: number;
      /** Words of the mask that each token waits for; 0 when none does. */
      maskWords: number;
    },
  ): void;
  score(id: number, ids: Int32Array, topLogprobs?: number): void;
  cancel(id: number): void;
  /** Which tokens may be drawn next in a constrained span: bit v % 32 of word v / 32. */
  setMask(id: number, mask: Int32Array): void;
  closeSequence(id: number): void;
  /** Counters by name, see lib/engine. */
  stats(): Promise<Record<string, number>>;
  /** After the last command or step; at once. */
  numBlocks(): number;
  numFreeBlocks(): number;
  close(): Promise<void>;
}

/** Engines, the exports of native/node/model/engine_api.cpp. */
export interface NativeEngines {
  readonly EngineHandle: new (listener: (event: NativeEngineEvent) => void) => NativeEngine;
}
