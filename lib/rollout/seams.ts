/** What an agent needs of a model: sequences of tokens, its tokenizer and chat template. */
import { numberIn, type OptionKinds, optionsOf } from "../base/check-options.ts";
import type { Scores, VersionRun } from "../engine/span.ts";

/** What a rollout needs of the engine's sequence. */
export interface TokenSequence {
  generate(options: GenerateRequest): Promise<GeneratedSpan>;
  /** The same, handing out ids as they come. @default a turn at a time */
  stream?(options: GenerateRequest): AsyncGenerator<StreamedIds, GeneratedSpan>;
  /** Adds tokens the model shall read; nothing before them is computed again. */
  append(ids: Int32Array): void | Promise<void>;
  /** Forgets all tokens but the first `length`. Memory stacks need it; `seed` is that of the draws from here on. */
  truncate?(length: number, options?: { readonly seed?: number }): void | Promise<void>;
  /** Log-probabilities these tokens would have after the first `after` of the sequence. Needed for cppl. */
  score?(ids: Int32Array, options?: { readonly after?: number }): Promise<Pick<Scores, "logprobs">>;
}

/** A sequence that can be shared and given back. */
export interface OpenSequence extends TokenSequence {
  /** Another sequence that continues from here; the tokens so far are not computed again. */
  fork(options: { readonly seed: number }): OpenSequence | Promise<OpenSequence>;
  close(): void | Promise<void>;
}

/** What an agent needs of the engine. */
export interface SequenceSource {
  /** The longest a sequence can grow, in tokens. @default no bound */
  readonly maxTokens?: number;
  open(promptIds: Int32Array, options: { readonly seed: number }): OpenSequence | Promise<OpenSequence>;
}

/** One turn's request. */
export interface GenerateRequest extends Sampling {
  readonly maxTokens: number;
  readonly stop: readonly string[];
  /** Whether entropies are wanted. @default false */
  readonly entropies?: boolean;
  readonly signal?: AbortSignal;
}

/** How tokens are drawn. */
export interface Sampling {
  /** 0 takes the likeliest token. @default 1 */
  readonly temperature?: number;
  /** @default 1 */
  readonly topP?: number;
}

/** What a sampling may say. */
export const samplingKinds: OptionKinds<Sampling> = {
  temperature: numberIn({ from: 0 }),
  topP: numberIn({ above: 0, to: 1 }),
};

/** Of an option `sampling`. */
export const samplingKind = optionsOf<Sampling>(samplingKinds);

/** Tokens of a turn as they come. */
export interface StreamedIds {
  readonly ids: Int32Array;
  /** As those of the whole turn. */
  readonly logprobs?: Float32Array | undefined;
  /** Tokens before the turn that were not computed again. @default unknown */
  readonly numReused?: number | undefined;
}

/** What one turn produced. */
export interface GeneratedSpan {
  readonly ids: Int32Array;
  readonly logprobs: Float32Array;
  /** Entropy of the distribution of each token at temperature 1, in nats; when it was asked for. */
  readonly entropies?: Float32Array;
  readonly stop: "stop" | "eos" | "length" | "aborted";
  /** Of the weights that sampled the first token. */
  readonly weightsVersion: number;
  /** Which weights sampled the tokens, in order. @default `weightsVersion` all of them */
  readonly versionRuns?: readonly VersionRun[] | undefined;
  /** Whether `logprobs` are near those of the weights, not their own: a segment of such a turn is recorded without them. */
  readonly isApproximate?: boolean | undefined;
}

/** What a rollout needs of a tokenizer. */
export interface TextCodec {
  /** `beginsText` puts the mark of a text's beginning first, where the model has one and the text does not spell it. */
  encode(
    text: string,
    options?: { readonly parseSpecialTokens?: boolean; readonly beginsText?: boolean },
  ): Int32Array;
  decode(ids: Int32Array): string;
}

/** What an agent needs of a chat template. */
export interface PromptTemplate {
  render(
    messages: readonly { readonly role: string; readonly content: string }[],
    options: { readonly addGenerationPrompt: boolean },
  ): string;
}
