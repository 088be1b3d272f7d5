/** What every rollout does turn by turn: generate, act, observe; all of it recorded, counted and within its limits. */
import { performance } from "node:perf_hooks";
import { SeekError } from "../../base/errors.ts";
import { mixSeed } from "../../base/seed.ts";
import type { Action } from "../grammars/grammar.ts";
import type { GeneratedSpan, TokenSequence } from "../seams.ts";
import type { Segment, StopReason, Trajectory } from "../trajectory.ts";
import type { Environment, OpenedPrompt, RolloutSignals } from "./environment.ts";
import { performSearch } from "./perform.ts";
import { encodeTurn } from "./turn-marks.ts";

/** One turn of the policy. */
export interface Turn extends Pick<GeneratedSpan, "stop" | "ids" | "entropies"> {
  readonly text: string;
  /** Its number among all segments. */
  readonly segment: number;
}

/** What a turn is asked for besides its tokens. */
export interface TurnOptions {
  readonly entropies?: boolean;
  /** See {@link Segment}. */
  readonly visible?: readonly number[];
}

/** A sequence, what was said in it, and the counters. */
export class Conversation {
  readonly environment: Environment;
  readonly sequence: TokenSequence;
  readonly prompt: OpenedPrompt;
  readonly segments: Segment[] = [];
  /** Generations so far. */
  turns = 0;
  /** Tokens that the sequence holds. */
  numTokens = 0;
  /** The most that it has held. */
  peakTokens = 0;
  readonly #signal: AbortSignal | undefined;
  readonly #onDocuments: NonNullable<RolloutSignals["onDocuments"]>;
  readonly #queries: (readonly string[])[] = [];
  readonly #failureReasons: string[] = [];
  readonly #started = performance.now();
  #replaced = 0;
  #lastId: number | undefined;
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
    this.sequence = sequence;
    this.prompt = prompt;
    this.environment = environment;
    this.#signal = signal;
    this.#onDocuments = onDocuments;
    this.#record({ kind: "prompt", tokens: prompt.tokens, text: prompt.text });
  }

  /** Why no turn can begin, if none can. */
  stopBefore(): StopReason | undefined {
    if (this.#signal?.aborted) return "aborted";
    return this.numTokens >= this.environment.limits.maxTokens ? "context" : undefined;
  }

  /** Lets the policy speak, up to the end of its turn. */
  async generate({ entropies, visible }: TurnOptions = {}): Promise<Turn> {
    const { limits, sampling, tokenizer, format } = this.environment;
    const started = performance.now();
    const span = await this.sequence.generate({
      ...sampling,
      maxTokens: Math.min(limits.maxResponseTokens, limits.maxTokens - this.numTokens),
      stop: format.turnEnds,
      entropies,
      signal: this.#signal,
    });
    this.#generateMs += performance.now() - started;
    if (this.turns === 0) this.#weightsVersion = span.weightsVersion;
    this.turns += 1;
    const { ids: tokens, logprobs } = span;
    const text = tokenizer.decode(tokens);
    this.#record({ kind: "policy", tokens, logprobs, text, visible });
    return { ...span, text, segment: this.segments.length - 1 };
  }

  /** Ends the conversation with an answer, or without one. */
  conclude(answer: string | undefined, stop: GeneratedSpan["stop"]): StopReason {
    this.#answer = answer;
    return answer === undefined ? lastStop(stop) : "answer";
  }

  /** Counts an action that is no answer, and says why no turn can follow it, if none can. */
  stopAfter({ kind }: Pick<Action, "kind">, stop: GeneratedSpan["stop"]): StopReason | undefined {
    const { maxTurns, maxTokens } = this.environment.limits;
    if (kind === "invalid") this.#invalidActions += 1;
    if (stop === "length" && this.numTokens >= maxTokens) return "context";
    if (this.turns < maxTurns) return undefined;
    return kind === "invalid" ? lastStop(stop) : "max_turns";
  }

  /** What the policy shall read after a search or an invalid turn. */
  async respond(action: Action): Promise<string> {
    const { format, limits } = this.environment;
    if (action.kind === "invalid") return format.invalid;
    if (action.kind !== "search") {
      throw new SeekError(
        "ERR_ARGUMENT",
        `format: expected a memory for actions like ${action.kind}, got none`,
      );
    }
    this.#queries.push(action.queries);
    this.#droppedQueries += action.dropped;
    const started = performance.now();
    if (action.queries.length === 0) {
      this.#onDocuments([]);
      return format.observation([], [], (text) => this.#shorten(text));
    }
    const perform = this.environment.perform ?? performSearch(this.environment.search);
    const {
      documents,
      found = documents,
      failures,
    } = await perform(action.queries, {
      topK: limits.topK,
      timeoutMs: limits.searchTimeoutMs,
      signal: this.#signal,
    });
    this.#searchMs += performance.now() - started;
    if (!this.#signal?.aborted) this.#failureReasons.push(...failures);
    if (documents === undefined) return format.failure;
    this.#onDocuments(found ?? []);
    return format.observation(action.queries, documents, (text) => this.#shorten(text));
  }

  /** Lets the policy read a text, and what announces its last turn; or says why it cannot. */
  async observe(text: string): Promise<StopReason | undefined> {
    const { format, limits, tokenizer, turnMarks: marks } = this.environment;
    const isLast = this.turns === limits.maxTurns - 1;
    const shown = isLast ? text + format.lastTurn : text;
    // Passages are other people's text: a spelled-out end-of-turn mark in them must stay text.
    const { tokens, text: written } = encodeTurn(tokenizer, shown, { marks, lastId: this.#lastId });
    if (this.#signal?.aborted) return "aborted";
    if (this.numTokens + tokens.length >= limits.maxTokens) return "context";
    await this.sequence.append(tokens);
    this.#record({ kind: "observation", tokens, text: written });
    return undefined;
  }

  /** Takes segments off the end of the sequence and puts others there, which were said before: the same ids (law 1). */
  async replace(forgotten: readonly Segment[], again: readonly Segment[]): Promise<void> {
    this.numTokens -= countTokens(forgotten);
    this.#replaced += 1;
    // A seed of its own: the chances of the forgotten draws must not return at their positions.
    const seed = mixSeed(this.prompt.seed ?? 0, this.prompt.id, this.#replaced);
    await this.sequence.truncate?.(this.numTokens, { seed });
    for (const { tokens } of again) await this.sequence.append(tokens);
    this.#lastId = again.at(-1)?.tokens.at(-1);
    this.numTokens += countTokens(again);
  }

  /** The record of it all. */
  toTrajectory(stop: StopReason): Trajectory {
    return {
      id: this.prompt.id,
      questionId: this.prompt.questionId,
      segments: this.segments,
      turns: this.turns,
      stop,
      answer: this.#answer,
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
    this.segments.push(segment);
    this.#lastId = segment.tokens.at(-1) ?? this.#lastId;
    this.numTokens += segment.tokens.length;
    this.peakTokens = Math.max(this.peakTokens, this.numTokens);
  }

  #shorten(documents: string): string {
    const { limits, tokenizer } = this.environment;
    const ids = tokenizer.encode(documents, { parseSpecialTokens: false });
    if (ids.length <= limits.maxObservationTokens) return documents;
    // A cut inside of a character leaves replacement marks at the end.
    return tokenizer.decode(ids.subarray(0, limits.maxObservationTokens)).replace(/\uFFFD+$/, "");
  }
}

function countTokens(segments: readonly Segment[]): number {
  return segments.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

function lastStop(stop: GeneratedSpan["stop"]): StopReason {
  return stop === "eos" || stop === "length" ? stop : "invalid";
}
