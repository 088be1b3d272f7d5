/** How tokens are drawn: options as callers give them and as the native sampler takes them. */
import type { NativeSampling } from "../base/addon/engines.ts";
import {
  checkArgument,
  type NumberBounds,
  numberIn,
  type OptionCheck,
  type OptionKinds,
  shownValue,
  wholeKind,
} from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { checkIds } from "./vocabulary.ts";

/**
 * How tokens are drawn. What changes logits is done in the order logitBias, badWords, repetitionPenalty,
 * frequencyPenalty, presencePenalty, temperature, topK, topP, minP; docs/sampling.md has the formulas.
 */
export interface SamplingOptions {
  /** Divides the logits: 0.001 to 1000, or 0 for the likeliest token. @default 1 */
  readonly temperature?: number | undefined;
  /** Draws among the fewest likeliest tokens whose share of the probability reaches this, 0 < topP <= 1. @default 1 */
  readonly topP?: number | undefined;
  /** Draws among this many likeliest tokens; 0 means all. @default 0 */
  readonly topK?: number | undefined;
  /** Draws among tokens at least this share as likely as the likeliest, 0 to 1. @default 0 */
  readonly minP?: number | undefined;
  /** Makes every token of the sequence less likely: divides its logit, or multiplies it below 0; 0.01 to 100. @default 1 */
  readonly repetitionPenalty?: number | undefined;
  /** Taken from the logit of every token that the span has, -2 to 2. @default 0 */
  readonly presencePenalty?: number | undefined;
  /** Taken from the logit of a token as often as the span has it, -2 to 2. @default 0 */
  readonly frequencyPenalty?: number | undefined;
  /** Added to the logits of these ids, -1e6 to 1e6; -Infinity forbids a token. @default {} */
  readonly logitBias?: Readonly<Record<number, number>> | undefined;
  /** Lists of ids, i32 [T] each, that never stand in the sequence in a row; a list may begin before the span. @default [] */
  readonly badWords?: readonly (Int32Array | readonly number[])[] | undefined;
}

/** Logits with a bias, times the greatest penalty and divided by the least temperature, are far within f32. */
const mostBias = 1e6;

const biasKind: OptionCheck = (name, value) => {
  checkArgument(name, value, "object");
  if (Symbol.iterator in (value as object))
    throw new SeekError("ERR_ARGUMENT", `${name}: expected {id: bias, ...}, got ${shownValue(value)}`);
  for (const [id, bias] of Object.entries(value as object)) {
    if (!/^(0|[1-9][0-9]*)$/.test(id))
      throw new SeekError("ERR_ARGUMENT", `${name}: expected ids of tokens as keys, got ${shownValue(id)}`);
    if (bias === Number.NEGATIVE_INFINITY) continue;
    if (typeof bias === "number" && Math.abs(bias) <= mostBias) continue;
    const expected = `a number from -${mostBias} to ${mostBias}, or -Infinity`;
    throw new SeekError("ERR_RANGE", `${name}: ${id}: expected ${expected}, got ${shownValue(bias)}`);
  }
};

const temperatureKind: OptionCheck = (name, value) => {
  checkArgument(name, value, "number");
  if (value !== 0) numberIn({ from: 1e-3, to: 1e3 })(name, value);
};

const penaltyBounds: NumberBounds = { from: -2, to: 2 };

/** The keys of a sampling. */
export const samplingKinds: OptionKinds<SamplingOptions> = {
  temperature: temperatureKind,
  topP: numberIn({ above: 0, to: 1 }),
  topK: wholeKind,
  minP: numberIn({ from: 0, to: 1 }),
  repetitionPenalty: numberIn({ from: 0.01, to: 100 }),
  presencePenalty: numberIn(penaltyBounds),
  frequencyPenalty: numberIn(penaltyBounds),
  logitBias: biasKind,
  badWords: "list",
};

/**
 * Whether tokens come from softmax(logits / temperature) itself, so that a span's log-probabilities are those of its draws.
 */
export function drawsFromPolicy(options: SamplingOptions): boolean {
  const { temperature = 1, topP = 1, topK = 0, minP = 0, repetitionPenalty = 1 } = options;
  const { presencePenalty = 0, frequencyPenalty = 0, logitBias = {}, badWords = [] } = options;
  const isWhole = temperature !== 0 && topP === 1 && topK === 0 && minP === 0;
  const isBare = repetitionPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0;
  return isWhole && isBare && Object.keys(logitBias).length === 0 && badWords.length === 0;
}

/** Fills in the defaults of checked options. @throws ERR_ARGUMENT, ERR_RANGE for what are no ids */
export function nativeSampling(options: SamplingOptions, vocabSize: number): NativeSampling {
  const { temperature = 1, topP = 1, topK = 0, minP = 0 } = options;
  const { repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0 } = options;
  const { logitBias = {}, badWords = [] } = options;
  const words = badWords.map((word, i) => checkIds(word, vocabSize, `badWords: ${i}`));
  const empty = words.findIndex(({ length }) => length === 0);
  if (empty >= 0) throw new SeekError("ERR_RANGE", `badWords: ${empty}: expected at least one id, got none`);
  return {
    ...{ temperature, topP, topK, minP, repetitionPenalty, presencePenalty, frequencyPenalty },
    biasedIds: checkIds(Object.keys(logitBias).map(Number), vocabSize, "logitBias"),
    biases: Float32Array.from(Object.values(logitBias)),
    badWords: words,
  };
}
