/** What an engine and its sequences are opened with. */
import type { NativeEngineSizes } from "../base/addon/engines.ts";
import { checkArgument, type OptionKinds } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import type { Adapter } from "../model/adapter.ts";
import type { Model } from "../model/model.ts";
import type { TokenTable } from "./vocabulary.ts";

/** Sequences of one engine step unless an engine is told otherwise. */
export const usualBatchSequences = 256;

/** Sizes of an engine. */
export interface EngineOptions {
  /** For stop strings, constraints and the default stop ids. @default none: stop strings and constraints are refused */
  readonly tokenizer?: TokenTable;
  /** Tokens run in one step; longer prompts are prefilled in chunks. @default 2048 */
  readonly maxBatchTokens?: number;
  /** Sequences run in one step. @default 256 */
  readonly maxBatchSequences?: number;
  /**
   * Memory for keys and values.
   *
   * @default 1 GiB on the CPU. On a GPU what is free when the first step is run, and when one is run after a training, less a
   *   tenth of the GPU and what a step needs
   */
  readonly cacheBytes?: number;
  /**
   * Blocks of the cache; fewer while a GPU has not the memory.
   *
   * @default what fits into `cacheBytes`, but no more than maxBatchSequences of the longest need
   */
  readonly numBlocks?: number;
  /**
   * Form of keys and values in the cache. `e4m3`, on a GPU only, keeps them in 8 bits, a scale for each head of a token: the
   * cache holds nearly twice as many, and what is generated is a little another distribution than the trained model's: its
   * log-probabilities are not those of training, which takes none from it. @default the model's dtype
   */
  readonly cacheDtype?: "e4m3" | undefined;
  /** Tokens a block holds; a multiple of 16 for bfloat16 models on the CPU. @default 64 */
  readonly blockTokens?: number;
  /**
   * Whether tokens that followed the last ones before are run ahead of their draws, on the CPU; the results are the same, and
   * copied text comes several tokens a step. @default true
   */
  readonly promptLookup?: boolean;
  /** Seeds of sequences that are opened without one follow from this. @default 0 */
  readonly seed?: number;
}

/** How a sequence is opened. */
export interface OpenOptions {
  /**
   * Of the sequence's draws: the same seed, tokens and options give the same result whatever else runs.
   *
   * @default the engine's next
   */
  readonly seed?: number | undefined;
  /**
   * What the sequence and its forks run through; false for the model alone. Its changes between steps take effect as those
   * of the weights do.
   *
   * @default the adapter that the engine was opened with
   */
  readonly adapter?: Adapter | false | undefined;
}

/** The type of each. */
export const engineKinds: OptionKinds<EngineOptions> = {
  tokenizer: "object",
  maxBatchTokens: "number",
  maxBatchSequences: "number",
  cacheBytes: "number",
  numBlocks: "number",
  blockTokens: "number",
  cacheDtype: ["e4m3"],
  promptLookup: "boolean",
  seed: "number",
};

/** The type of each. */
export const openKinds: OptionKinds<OpenOptions> = {
  seed: "number",
  adapter: (name, value) => checkArgument(name, value, value === false ? [false] : "object"),
};

/** The sizes of an engine on a model, with those that are not given. @throws ERR_RANGE */
export function sizesOf(model: Model, options: EngineOptions): NativeEngineSizes {
  const { maxBatchTokens = 2048, maxBatchSequences = usualBatchSequences } = options;
  const { blockTokens = 64, promptLookup = true } = options;
  const { numBlocks, cacheBytes } = options;
  for (const [name, value] of Object.entries({ maxBatchTokens, maxBatchSequences, numBlocks, blockTokens })) {
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) {
      throw new SeekError("ERR_RANGE", `${name}: expected a whole number from 1 on, got ${value}`);
    }
  }
  if (cacheBytes !== undefined && !(cacheBytes >= 1 && cacheBytes < Number.MAX_SAFE_INTEGER)) {
    throw new SeekError("ERR_RANGE", `cacheBytes: expected a number from 1 on, got ${cacheBytes}`);
  }
  return {
    ...{ blockTokens, maxBatchTokens, promptLookup },
    numBlocks: numBlocks ?? 0,
    cacheBytes: Math.floor(cacheBytes ?? 0),
    maxTokens: model.config.contextTokens,
    maxBatchRows: maxBatchSequences,
    cacheDtype: options.cacheDtype ?? "model",
  };
}
