/** The search agent: a plain async function over a token sequence and a search. */
import { performance } from "node:perf_hooks";
import type { Document } from "../text/observation.ts";
import type { Format } from "./format.ts";
import type { Action } from "./grammar.ts";
import { type PerformCalls, performSearch } from "./perform.ts";
import type { Segment, StopReason, Trajectory } from "./trajectory.ts";

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
  encode(text: string, options?: { readonly parseSpecialTokens?: boolean }): Int32Array;
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
  /** Tokens of the whole trajectory, prompt included. */
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
 * @throws whatever the sequence throws; a failing search is an observation instead
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
  const run = new Rollout(sequence, prompt, environment, signals);
  return run.toTrajectory(await run.play());
}

class Rollout {
  readonly #sequence: TokenSequence;
  readonly #prompt: OpenedPrompt;
  readonly #environment: Environment;
  readonly #signal: AbortSignal | undefined;
  readonly #onDocuments: NonNullable<RolloutSignals["onDocuments"]>;
  readonly #segments: Segment[] = [];
  readonly #queries: (readonly string[])[] = [];
  readonly #failureReasons: string[] = [];
  readonly #started = performance.now();
  #numTokens = 0;
  #turns = 0;
  #invalidActions = 0;
  #droppedQueries = 0;
  #generateMs = 0;
  #searchMs = 0;
  #weightsVersion = 0;
  #answer: string | undefined;

  constructor(
    sequence: TokenSequence,
    prompt: OpenedPrompt,
    environment: Environment,
    { signal, onDocuments = () => {} }: RolloutSignals,
  ) {
    this.#sequence = sequence;
    this.#prompt = prompt;
    this.#environment = environment;
    this.#signal = signal;
    this.#onDocuments = onDocuments;
    this.#record({ kind: "prompt", tokens: prompt.tokens, text: prompt.text });
  }

  async play(): Promise<StopReason> {
    const { maxTurns, maxTokens } = this.#environment.limits;
    for (;;) {
      if (this.#signal?.aborted) return "aborted";
      if (this.#numTokens >= maxTokens) return "context";
      const { stop, text } = await this.#generate();
      if (stop === "aborted") return "aborted";
      const { format } = this.#environment;
      const action = format.parse(text, format);
      if (action.kind === "answer" || action.kind === "end") {
        this.#answer = action.answer;
        return action.answer === undefined ? lastStop(stop) : "answer";
      }
      if (action.kind !== "search") this.#invalidActions += 1;
      if (stop === "length" && this.#numTokens >= maxTokens) return "context";
      if (this.#turns === maxTurns) return action.kind === "search" ? "max_turns" : lastStop(stop);
      const ended = await this.#observe(await this.#respond(action));
      if (ended) return ended;
    }
  }

  toTrajectory(stop: StopReason): Trajectory {
    return {
      id: this.#prompt.id,
      questionId: this.#prompt.questionId,
      segments: this.#segments,
      turns: this.#turns,
      stop,
      ...(this.#answer === undefined ? {} : { answer: this.#answer }),
      rounds: this.#queries.length,
      queries: this.#queries,
      invalidActions: this.#invalidActions,
      ...(this.#droppedQueries > 0 ? { droppedQueries: this.#droppedQueries } : {}),
      failures: this.#failureReasons.length,
      ...(this.#failureReasons.length > 0 ? { failureReasons: this.#failureReasons } : {}),
      timings: {
        generateMs: this.#generateMs,
        searchMs: this.#searchMs,
        totalMs: performance.now() - this.#started,
      },
      weightsVersion: this.#weightsVersion,
    };
  }

  #record(segment: Segment): void {
    this.#segments.push(segment);
    this.#numTokens += segment.tokens.length;
  }

  async #generate(): Promise<{ stop: GeneratedSpan["stop"]; text: string }> {
    const { limits, sampling, tokenizer } = this.#environment;
    const started = performance.now();
    const { ids, logprobs, stop, weightsVersion } = await this.#sequence.generate({
      ...sampling,
      maxTokens: Math.min(limits.maxResponseTokens, limits.maxTokens - this.#numTokens),
      stop: this.#environment.format.turnEnds,
      ...(this.#signal ? { signal: this.#signal } : {}),
    });
    this.#generateMs += performance.now() - started;
    if (this.#turns === 0) this.#weightsVersion = weightsVersion;
    this.#turns += 1;
    const text = tokenizer.decode(ids);
    this.#record({ kind: "policy", tokens: ids, logprobs, text });
    return { stop, text };
  }

  async #respond(action: Action): Promise<string> {
    const { format } = this.#environment;
    if (action.kind !== "search") return format.invalid;
    this.#queries.push(action.queries);
    this.#droppedQueries += action.dropped;
    const started = performance.now();
    const { topK, searchTimeoutMs } = this.#environment.limits;
    if (action.queries.length === 0) {
      this.#onDocuments([]);
      return format.observation([], [], (text) => this.#shorten(text));
    }
    const perform = this.#environment.perform ?? performSearch(this.#environment.search);
    const { documents, failures } = await perform(action.queries, {
      topK,
      timeoutMs: searchTimeoutMs,
      ...(this.#signal ? { signal: this.#signal } : {}),
    });
    this.#searchMs += performance.now() - started;
    if (!this.#signal?.aborted) this.#failureReasons.push(...failures);
    if (documents === undefined) return format.failure;
    this.#onDocuments(documents);
    return format.observation(action.queries, documents, (text) => this.#shorten(text));
  }

  async #observe(text: string): Promise<StopReason | undefined> {
    const { format, limits, tokenizer } = this.#environment;
    const isLast = this.#turns === limits.maxTurns - 1;
    const shown = isLast ? text + format.lastTurn : text;
    // Passages are other people's text: a spelled-out end-of-turn mark in them must stay text.
    const tokens = tokenizer.encode(shown, { parseSpecialTokens: false });
    if (this.#signal?.aborted) return "aborted";
    if (this.#numTokens + tokens.length >= limits.maxTokens) return "context";
    await this.#sequence.append(tokens);
    this.#record({ kind: "observation", tokens, text: shown });
    return undefined;
  }

  #shorten(documents: string): string {
    const { limits, tokenizer } = this.#environment;
    const ids = tokenizer.encode(documents, { parseSpecialTokens: false });
    if (ids.length <= limits.maxObservationTokens) return documents;
    // A cut inside of a character leaves replacement marks at the end.
    return tokenizer.decode(ids.subarray(0, limits.maxObservationTokens)).replace(/\uFFFD+$/, "");
  }
}

function lastStop(stop: GeneratedSpan["stop"]): StopReason {
  return stop === "eos" || stop === "length" ? stop : "invalid";
}
