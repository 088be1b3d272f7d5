/** The search agent: a plain async function over a token sequence and a search. */
import type { Document } from "../text/observation.ts";
import { Conversation } from "./conversation.ts";
import type { Format } from "./format.ts";
import type { PerformCalls } from "./perform.ts";
import { playStack } from "./stack.ts";
import type { StopReason, Trajectory } from "./trajectory.ts";
import type { TurnMarks } from "./turn-marks.ts";

/** What a rollout needs of the engine's sequence. */
export interface TokenSequence {
  generate(options: GenerateRequest): Promise<GeneratedSpan>;
  /** Adds tokens the model shall read; nothing before them is computed again. */
  append(ids: Int32Array): void | Promise<void>;
  /** Forgets all tokens but the first `length`. Memory stacks need it; `seed` is that of the draws from here on. */
  truncate?(length: number, options?: { readonly seed?: number }): void | Promise<void>;
  /** Log-probabilities these tokens would have after the first `after` of the sequence. Needed for cppl. */
  score?(ids: Int32Array, options?: { readonly after?: number }): Promise<Scores>;
}

/** How likely given tokens are. */
export interface Scores {
  /** Natural log-probability of each token at temperature 1. */
  readonly logprobs: Float32Array;
}

/** One turn's request. */
export interface GenerateRequest extends Sampling {
  readonly maxTokens: number;
  readonly stop: readonly string[];
  /** Whether entropies are wanted. @default false */
  readonly entropies?: boolean;
  readonly signal?: AbortSignal;
}

/** What one turn produced. */
export interface GeneratedSpan {
  readonly ids: Int32Array;
  readonly logprobs: Float32Array;
  /** Entropy of the distribution of each token at temperature 1, in nats; when it was asked for. */
  readonly entropies?: Float32Array;
  readonly stop: "stop" | "eos" | "length" | "aborted";
  readonly weightsVersion: number;
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

/** What a rollout needs of a search. */
export type SearchDocuments = (
  queries: readonly string[],
  options: { readonly topK: number; readonly signal?: AbortSignal },
) => Promise<readonly (readonly Document[])[]>;

/** How tokens are drawn. */
export interface Sampling {
  /** 0 takes the likeliest token. @default 1 */
  readonly temperature?: number;
  /** @default 1 */
  readonly topP?: number;
}

/** Bounds of one trajectory. */
export interface Limits {
  /** Generations; the last one can only answer. */
  readonly maxTurns: number;
  /** Tokens of one generation. */
  readonly maxResponseTokens: number;
  /** Tokens of the documents of one query. */
  readonly maxObservationTokens: number;
  /** Tokens of the whole trajectory, prompt included; with a memory stack, of what is visible at once. */
  readonly maxTokens: number;
  /** Documents per query. */
  readonly topK: number;
  /** A search that takes longer has failed (law 7). */
  readonly searchTimeoutMs: number;
}

/** Limits of RAG-R1: four searches and the answer. */
export const defaultLimits: Limits = {
  maxTurns: 5,
  maxResponseTokens: 500,
  maxObservationTokens: 1000,
  maxTokens: 8192,
  topK: 3,
  searchTimeoutMs: 30_000,
};

/** Everything a rollout meets besides the question. */
export interface Environment {
  readonly tokenizer: TextCodec;
  readonly search: SearchDocuments;
  /** Executes the calls of an action instead of one search for all of them. @default `performSearch(search)` */
  readonly perform?: PerformCalls;
  readonly format: Format;
  /** Around observations that are messages. @default nothing */
  readonly turnMarks?: TurnMarks | undefined;
  readonly limits: Limits;
  readonly sampling: Sampling;
}

/** A prompt that the sequence already holds. */
export interface OpenedPrompt {
  readonly id: string;
  readonly questionId: string;
  readonly tokens: Int32Array;
  readonly text: string;
  /** The seed of the sequence; after a memory stack has forgotten tokens, others follow from it. @default 0 */
  readonly seed?: number;
}

/** Who ends a rollout, and who hears of it. */
export interface RolloutSignals {
  readonly signal?: AbortSignal;
  /** Told of what each search brought, list by list, before anything is cut. */
  readonly onDocuments?: (documents: readonly (readonly Document[])[]) => void;
}

/**
 * Lets the policy think, search and answer until it answers or meets a limit.
 *
 * @param sequence - holds the prompt and nothing more; it stays open
 * @param prompt - what the sequence holds
 * @param environment - tokenizer, search, format and limits
 * @param options - `signal` ends the trajectory with the stop reason `aborted`; `onDocuments` hears what is found
 * @returns the trajectory; its policy tokens are the sampled ones, unchanged (law 1)
 * @throws whatever the sequence throws; a failing search is an observation instead. ERR_ARGUMENT when the format has a
 *   memory stack and the sequence cannot forget
 * @example
 * const text = "Question: who?";
 * const prompt = { id: "a", questionId: "a", text, tokens: tokenizer.encode(text) };
 * const { format, limits, sampling } = ragR1({ queries: "single" });
 * const sequence = engine.open(prompt.tokens, { seed: 1 });
 * const { stop } = await rollout(sequence, prompt, { tokenizer, search, format, limits, sampling });
 * sequence.close();
 */
export async function rollout(
  sequence: TokenSequence,
  prompt: OpenedPrompt,
  environment: Environment,
  signals: RolloutSignals = {},
): Promise<Trajectory> {
  const { memory } = environment.format;
  const talk = new Conversation(sequence, prompt, environment, signals);
  if (memory !== undefined) return await playStack(talk, memory);
  return talk.toTrajectory(await play(talk));
}

async function play(talk: Conversation): Promise<StopReason> {
  const { format } = talk.environment;
  for (;;) {
    const early = talk.stopBefore();
    if (early) return early;
    const { stop, text } = await talk.generate();
    if (stop === "aborted") return stop;
    const action = format.parse(text, format);
    if (action.kind === "answer" || action.kind === "end") return talk.conclude(action.answer, stop);
    const ended = talk.stopAfter(action, stop) ?? (await talk.observe(await talk.respond(action)));
    if (ended) return ended;
  }
}
