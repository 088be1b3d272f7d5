/** What one generate call asks for and what it gives. */
import { checkOptions, type OptionKinds, shownValue } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";

/** How tokens are drawn and when to stop. */
export interface GenerateOptions {
  /** Most tokens to sample; at least 1. */
  readonly maxTokens: number;
  /** Divides the logits: 0.001 to 1000, or 0 for the likeliest token. @default 1 */
  readonly temperature?: number;
  /** Draws among the fewest likeliest tokens whose share of the probability reaches this, 0 < topP <= 1. @default 1 */
  readonly topP?: number;
  /** Draws among this many likeliest tokens; 0 means all. @default 0 */
  readonly topK?: number;
  /** Ends the span with the token that completes one of these strings; matched over bytes. @default [] */
  readonly stop?: readonly string[];
  /** Ends the span with one of these tokens. @default the tokenizer's eosIds */
  readonly stopIds?: readonly number[];
  /** Whether the span says how flat the distributions were that its tokens were drawn from. @default false */
  readonly entropies?: boolean;
  /** Ends the span early, with `stop: "aborted"` and the tokens sampled so far. */
  readonly signal?: AbortSignal;
}

/**
 * Why a span ended: a stop string or one of the caller's stop ids; the tokenizer's end of text; `maxTokens` or the
 * longest sequence the model and the cache allow; the caller's signal.
 */
export type SpanStop = "stop" | "eos" | "length" | "aborted";

/** The tokens of one generate call, as they were sampled. */
export interface Span {
  /** i32 [T]; the last token is kept even when it goes on after the stop string. */
  readonly ids: Int32Array;
  /**
   * f32 [T]: natural log of each token's probability under softmax(logits / temperature) over the whole vocabulary,
   * before topK and topP; the temperature counts as 1 when it is 0.
   */
  readonly logprobs: Float32Array;
  /**
   * f32 [T], when asked for: the entropy of softmax(logits) over the whole vocabulary, in nats, where each token was
   * drawn; whatever the temperature, topK and topP of the draw.
   */
  readonly entropies?: Float32Array;
  readonly stop: SpanStop;
  /** The stop string that was met, if one was. */
  readonly stopText?: string;
  /** Bytes of the last token that come after the stop string. */
  readonly cutBytes: number;
  /** Version of the weights that sampled the first token. */
  readonly weightsVersion: number;
}

/** Tokens of a span as they come; all of a span's chunks together are its tokens. */
export interface SpanChunk {
  /** i32 [t] */
  readonly ids: Int32Array;
  /** f32 [t], as in {@link Span} */
  readonly logprobs: Float32Array;
  readonly entropies?: Float32Array;
}

/** How likely given tokens are. */
export interface Scores {
  /** f32 [T]: natural log of each token's probability under softmax(logits). */
  readonly logprobs: Float32Array;
  /** f32 [T]: entropy of that distribution, in nats. */
  readonly entropies: Float32Array;
}

/** Options with every default filled in. */
export interface FullOptions {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly stop: readonly string[];
  readonly stopIds: readonly number[];
  readonly entropies: boolean;
}

const generateKinds: OptionKinds<GenerateOptions> = {
  maxTokens: "number",
  temperature: "number",
  topP: "number",
  topK: "number",
  stop: "list",
  stopIds: "list",
  entropies: "boolean",
  signal: "signal",
};

function check(name: string, value: number | undefined, isRight: boolean, expected: string): void {
  if (!isRight) throw new SeekError("ERR_RANGE", `${name}: expected ${expected}, got ${value}`);
}

/** Checks the caller's options and fills in the defaults. @throws ERR_RANGE, ERR_ARGUMENT */
export function fullOptions(
  options: GenerateOptions,
  vocabulary: { eosIds: readonly number[]; hasBytes: boolean; size: number },
): FullOptions {
  checkOptions("generate", options, generateKinds);
  const { maxTokens, temperature = 1, topP = 1, topK = 0, stop = [], entropies = false } = options;
  const { stopIds = vocabulary.eosIds } = options;
  check(
    "maxTokens",
    maxTokens,
    Number.isSafeInteger(maxTokens) && maxTokens >= 1,
    "a whole number from 1 on",
  );
  check(
    "temperature",
    temperature,
    temperature === 0 || (temperature >= 1e-3 && temperature <= 1e3),
    "0 or 0.001 to 1000",
  );
  check("topP", topP, topP > 0 && topP <= 1, "a number in (0, 1]");
  check("topK", topK, Number.isSafeInteger(topK) && topK >= 0, "a whole number from 0 on");
  const wrong = stop.find((text) => typeof text !== "string" || text.length === 0);
  if (wrong !== undefined) {
    throw new SeekError(
      "ERR_ARGUMENT",
      `stop: expected strings that are not empty, got ${shownValue(wrong)}`,
    );
  }
  if (options.stopIds !== undefined) checkIds(options.stopIds, vocabulary.size, "stopIds");
  if (stop.length > 0 && !vocabulary.hasBytes) {
    throw new SeekError("ERR_ARGUMENT", "stop: strings need an engine that was opened with a tokenizer");
  }
  return { maxTokens, temperature, topP, topK, stop, stopIds, entropies };
}

/** Copies ids into an Int32Array. @throws ERR_ARGUMENT for anything else; ERR_RANGE for one outside the vocabulary */
export function checkIds(
  ids: Int32Array | readonly number[],
  vocabSize: number,
  name: string = "ids",
): Int32Array {
  if (!(ids instanceof Int32Array || Array.isArray(ids))) {
    const expected = "an Int32Array or a list of token ids, such as tokenizer.encode gives";
    throw new SeekError("ERR_ARGUMENT", `${name}: expected ${expected}, got ${shownValue(ids)}`);
  }
  const wrong = ids.findIndex((id) => !(id >= 0 && id < vocabSize && Number.isInteger(id)));
  if (wrong >= 0) {
    throw new SeekError(
      "ERR_RANGE",
      `${name}: expected 0 to ${vocabSize - 1}, got ${shownValue(ids[wrong])} at ${wrong}`,
    );
  }
  return Int32Array.from(ids);
}

/** The options of calls that only take a seed. @throws ERR_ARGUMENT, ERR_RANGE */
export function checkSeedOptions(name: string, options: { readonly seed?: number | undefined }): void {
  checkOptions(name, options, { seed: "number" });
  if (options.seed !== undefined) checkSeed(options.seed);
}

/** @throws ERR_RANGE for anything but a whole number from 0 on */
export function checkSeed(seed: number): number {
  check("seed", seed, Number.isSafeInteger(seed) && seed >= 0, "a whole number from 0 on");
  return seed;
}
