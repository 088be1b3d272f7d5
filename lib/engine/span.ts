/** What one generate call asks for and what it gives. */
import type { NativeSampling } from "../base/addon/engines.ts";
import { checkOptions, countKind, type OptionKinds, shownValue, wholeKind } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { type Constraint, checkConstraint, constraintKind } from "./constraint/constraint.ts";
import { drawsFromPolicy, nativeSampling, type SamplingOptions, samplingKinds } from "./sampling-options.ts";
import { checkIds } from "./vocabulary.ts";

/** How tokens are drawn and when to stop. */
export interface GenerateOptions extends SamplingOptions {
  /** Most tokens to sample; at least 1. */
  readonly maxTokens: number;
  /** Ends the span with the token that completes one of these strings; matched over bytes. @default [] */
  readonly stop?: readonly string[];
  /** Ends the span with one of these tokens. @default the tokenizer's eosIds */
  readonly stopIds?: readonly number[];
  /** Holds the text to JSON of a schema, a regular expression or a grammar. @default none */
  readonly constraint?: Constraint | undefined;
  /** Whether the span says how flat the distributions were that its tokens were drawn from. @default false */
  readonly entropies?: boolean;
  /**
   * How many of the most likely tokens the span lists for each of its own, with their log-probabilities: 0 to 20, and no more
   * than the vocabulary has. @default 0
   */
  readonly topLogprobs?: number;
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
   * f32 [T]: natural log of each token's probability in the policy's distribution, softmax(logits / temperature) over the
   * whole vocabulary before all that else shapes the draw; the temperature counts as 1 when it is 0. What training needs.
   */
  readonly logprobs: Float32Array;
  /**
   * `policy` when the tokens were drawn from the distribution that `logprobs` belong to; `shaped` when a limit, penalty,
   * bias or constraint was between, or temperature 0.
   */
  readonly drawnFrom: "policy" | "shaped";
  /** Whether keys and values were in 8 bits ({@link EngineOptions.cacheDtype}): `logprobs` are then near the policy's, not its own. */
  readonly isApproximate: boolean;
  /**
   * f32 [T], when asked for: the entropy of softmax(logits) over the whole vocabulary, in nats, where each token was
   * drawn; whatever else shaped the draw.
   */
  readonly entropies?: Float32Array;
  /**
   * i32 [T, K], when K were asked for: the K most likely tokens where each token was drawn, of the distribution that `logprobs`
   * belong to, the likeliest first; of equal logits the lower id comes first, so that the first is the greedy draw.
   */
  readonly topIds?: Int32Array;
  /** f32 [T, K]: natural logs of their probabilities, with the bits that `logprobs` has for a token that is drawn. */
  readonly topLogprobs?: Float32Array;
  /**
   * Of the sequence's tokens before the span, the first so many were not read for it: their keys and values were there when
   * it began, the sequence's own from a call before, its fork's origin's, or found where a sequence that begins alike had
   * left them. The last token is always read. What is computed again because the cache was full does not change it.
   */
  readonly numReused: number;
  readonly stop: SpanStop;
  /** The stop string that was met, if one was. */
  readonly stopText?: string;
  /** Bytes of the last token that come after the stop string. */
  readonly cutBytes: number;
  /** Version of the weights that sampled the first token, those of the adapter included. */
  readonly weightsVersion: number;
  /** Which weights sampled the tokens, in order: more than one run when weights changed meanwhile. None without tokens. */
  readonly versionRuns: readonly VersionRun[];
}

/** Tokens one after another that the same weights sampled. */
export interface VersionRun {
  readonly weightsVersion: number;
  /** At least 1. */
  readonly numTokens: number;
}

/** Tokens of a span as they come; all of a span's chunks together are its tokens. */
export interface SpanChunk {
  /** i32 [t] */
  readonly ids: Int32Array;
  /** f32 [t], as in {@link Span} */
  readonly logprobs: Float32Array;
  readonly entropies?: Float32Array;
  /** i32 [t, K] */
  readonly topIds?: Int32Array;
  /** f32 [t, K] */
  readonly topLogprobs?: Float32Array;
  readonly numReused: number;
}

/** How likely given tokens are. */
export interface Scores {
  /** f32 [T]: natural log of each token's probability under softmax(logits). */
  readonly logprobs: Float32Array;
  /** f32 [T]: entropy of that distribution, in nats. */
  readonly entropies: Float32Array;
  /** i32 [T, K], when K were asked for: the most likely tokens in the place of each, as in {@link Span}. */
  readonly topIds?: Int32Array;
  /** f32 [T, K]: natural logs of their probabilities under softmax(logits). */
  readonly topLogprobs?: Float32Array;
}

/** Which scores are asked for. */
export interface ScoreOptions {
  /** The sequence's leading tokens that the scored ones are to follow, at least 1. @default all */
  readonly after?: number | undefined;
  /** How many of the most likely tokens are listed in the place of each, as in {@link GenerateOptions}. @default 0 */
  readonly topLogprobs?: number | undefined;
}

/** Options with every default filled in. */
export interface FullOptions {
  readonly maxTokens: number;
  readonly sampling: NativeSampling;
  readonly drawnFrom: Span["drawnFrom"];
  readonly stop: readonly string[];
  readonly stopIds: readonly number[];
  readonly entropies: boolean;
  readonly topLogprobs: number;
}

/** Tokens that may be listed for each: kMaxTop of the native core. */
const mostTop = 20;

const generateKinds: OptionKinds<GenerateOptions> = {
  ...samplingKinds,
  maxTokens: countKind,
  constraint: constraintKind,
  stop: "list",
  stopIds: "list",
  entropies: "boolean",
  topLogprobs: wholeKind,
  signal: "signal",
};

/** Checks the caller's options and fills in the defaults. @throws ERR_RANGE, ERR_ARGUMENT */
export function fullOptions(
  options: GenerateOptions,
  vocabulary: { eosIds: readonly number[]; hasBytes: boolean; size: number },
): FullOptions {
  checkOptions("generate", options, generateKinds, ["maxTokens"]);
  const { maxTokens, stop = [], entropies = false, stopIds = vocabulary.eosIds, topLogprobs = 0 } = options;
  checkTop(topLogprobs, vocabulary.size);
  checkConstraint(options.constraint, vocabulary, stopIds);
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
  return {
    ...{ maxTokens, stop, stopIds, entropies, topLogprobs },
    drawnFrom: options.constraint === undefined && drawsFromPolicy(options) ? "policy" : "shaped",
    sampling: nativeSampling(options, vocabulary.size),
  };
}

/** Checks the options of a score. @throws ERR_RANGE, ERR_ARGUMENT */
export function checkScoreOptions(options: ScoreOptions, vocabSize: number): void {
  checkOptions("score", options, { after: "number", topLogprobs: wholeKind });
  checkTop(options.topLogprobs ?? 0, vocabSize);
}

/** @throws ERR_RANGE */
function checkTop(topLogprobs: number, vocabSize: number): void {
  const most = Math.min(mostTop, vocabSize);
  if (topLogprobs <= most) return;
  throw new SeekError("ERR_RANGE", `topLogprobs: expected 0 to ${most}, got ${topLogprobs}`);
}

/** The options of calls that only take a seed. @throws ERR_ARGUMENT, ERR_RANGE */
export function checkSeedOptions(name: string, options: { readonly seed?: number | undefined }): void {
  checkOptions(name, options, { seed: "number" });
  if (options.seed !== undefined) checkSeed(options.seed);
}

/** @throws ERR_RANGE for anything but a whole number from 0 on */
export function checkSeed(seed: number): number {
  wholeKind("seed", seed);
  return seed;
}
