/** What an agent has at hand for one question: searches and conversations, which are kept for its trajectory. */
import { beforeDeadline } from "../../base/deadline.ts";
import { mixSeed } from "../../base/seed.ts";
import type { Question } from "../../data/question.ts";
import type { Document } from "../../text/observation.ts";
import type { OpenSequence } from "../seams.ts";
import type { Segment, StopReason, Trajectory } from "../trajectory.ts";
import { searchBefore } from "../turns/search-before.ts";
import { type AgentParts, boundLimits, promptText, type RolloutOptions } from "./agent.ts";
import { type Said, Talk } from "./talk.ts";

/** Stands for the documents until the chat template has been applied; of Unicode's private use. */
export const documentsHere = "\u{F5EE}";

/** What a piece of work needs; limits of turns do not apply to it. */
export type WorkParts = Omit<AgentParts, "format">;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** How a conversation begins. */
export interface Opening {
  readonly system?: string;
  /** The user's message. */
  readonly prompt: string;
  /** What was found, for the place that `system` or `prompt` keeps for documents. @default none */
  readonly documents?: string;
  /** Begins the model's turn. @default nothing */
  readonly prefix?: string;
}

/** Answers a question by what `work` offers; undefined without an answer. */
export type Method = (work: Work, question: Question) => Promise<string | undefined>;

/** The searches and conversations of one question. */
export class Work {
  /** A method sets it when it has taken all of its steps without an answer. */
  ranOut = false;
  /** Turns that held nothing of what was asked for. */
  invalidActions = 0;
  readonly #parts: WorkParts;
  readonly #question: Question;
  readonly #options: RolloutOptions;
  readonly #talks: Talk[] = [];
  readonly #sequences: OpenSequence[] = [];
  readonly #queries: string[] = [];
  readonly #failures: string[] = [];
  readonly #started = performance.now();
  #searchMs = 0;

  constructor(parts: WorkParts, question: Question, options: RolloutOptions) {
    this.#parts = {
      ...parts,
      limits: boundLimits(parts),
      sampling: options.sampling ?? parts.sampling,
    };
    this.#question = question;
    this.#options = options;
  }

  /** Whether the caller no longer wants an answer. */
  get isAborted(): boolean {
    return this.#options.signal?.aborted === true;
  }

  /** Searches; undefined when the search failed, which is counted. */
  async find(query: string): Promise<readonly Document[] | undefined> {
    const { search, limits } = this.#parts;
    const { signal, onDocuments } = this.#options;
    this.#queries.push(query);
    const started = performance.now();
    const { topK, searchTimeoutMs: timeoutMs } = limits;
    const outcome = await searchBefore(search, [query], { topK, timeoutMs, signal });
    this.#searchMs += performance.now() - started;
    if ("failure" in outcome) {
      if (!this.isAborted) this.#failures.push(outcome.failure);
      return undefined;
    }
    onDocuments?.(outcome.documents);
    return outcome.documents.flat();
  }

  /**
   * Uses a tool; undefined when it failed or came too late, which is counted as a failed search is.
   *
   * @param query - what it is asked, for the record
   * @param tool - whatever it does; told of the deadline by `signal`
   */
  async use<Result>(
    query: string,
    tool: (query: string, options: { readonly signal: AbortSignal }) => Result | Promise<Result>,
  ): Promise<Result | undefined> {
    const { signal } = this.#options;
    this.#queries.push(query);
    const started = performance.now();
    const { searchTimeoutMs: timeoutMs } = this.#parts.limits;
    const outcome = await beforeDeadline((stop) => tool(query, { signal: stop }), {
      timeoutMs,
      signal,
    });
    this.#searchMs += performance.now() - started;
    if (outcome.kind === "done") return outcome.result;
    if (outcome.kind === "failed") this.#failures.push(messageOf(outcome.error));
    if (outcome.kind === "timed out") this.#failures.push(`no answer within ${timeoutMs} ms`);
    return undefined;
  }

  /** Opens a conversation. @throws what the engine throws */
  async open(opening: Opening): Promise<Talk> {
    const { engine, tokenizer, limits, sampling } = this.#parts;
    const { seed = 0, signal } = this.#options;
    const segments = this.#openingSegments(opening);
    const tokens = Int32Array.from(segments.flatMap((segment) => [...segment.tokens]));
    const index = this.#talks.length;
    // The place in the list is taken at once: conversations side by side keep their order.
    const fits = tokens.length < limits.maxTokens;
    const waiting = new Talk(undefined, segments, { tokenizer, limits, sampling, signal });
    this.#talks.push(waiting);
    if (!fits) return waiting;
    const sequence = await engine.open(tokens, { seed: mixSeed(seed, this.#question.id, index) });
    this.#sequences.push(sequence);
    const talk = new Talk(sequence, segments, { tokenizer, limits, sampling, signal });
    this.#talks[index] = talk;
    return talk;
  }

  /** A conversation of one turn. @throws what the engine throws */
  async ask(opening: Opening, ends: readonly string[]): Promise<Said> {
    const talk = await this.open(opening);
    return talk.say(ends);
  }

  /** The beginning of a text, at most as long as an observation may be. */
  shorten(text: string, maxTokens = this.#parts.limits.maxObservationTokens): string {
    const ids = this.#encode(text);
    if (ids.length <= maxTokens) return text;
    return this.#decode(ids.subarray(0, maxTokens));
  }

  /** Both ends of a text, the middle left out, at most as long as a conversation can hold besides `others`. */
  shortenMiddle(text: string, others: string): string {
    const { maxTokens, maxResponseTokens } = this.#parts.limits;
    // The template's marks, and what cutting adds, need a little room too.
    const room = Math.max(0, maxTokens - maxResponseTokens - this.#encode(others).length - 64);
    const ids = this.#encode(text);
    if (ids.length <= room) return text;
    const half = Math.floor(room / 2);
    return `${this.#decode(ids.subarray(0, half))}\n...\n${this.#decode(ids.subarray(ids.length - half))}`;
  }

  /** The end of a text, at most as long as an observation may be. */
  lastPart(text: string): string {
    const ids = this.#encode(text);
    const { maxObservationTokens } = this.#parts.limits;
    return ids.length <= maxObservationTokens ? text : this.#decode(ids.slice(-maxObservationTokens));
  }

  /** The text of single ids. */
  decode(ids: Int32Array): string {
    return this.#parts.tokenizer.decode(ids);
  }

  #encode(text: string): Int32Array {
    return this.#parts.tokenizer.encode(text, { parseSpecialTokens: false });
  }

  // A cut inside of a character leaves replacement marks.
  #decode(ids: Int32Array): string {
    return this.#parts.tokenizer.decode(ids).replace(/^\uFFFD+|\uFFFD+$/g, "");
  }

  // Documents are encoded by themselves: a spelled-out end-of-turn mark in them must stay text.
  #openingSegments({ system, prompt, documents, prefix }: Opening): Segment[] {
    const { tokenizer, chatTemplate } = this.#parts;
    const format = {
      prompt: () => prompt,
      system,
      prefix: prefix ?? "",
    };
    const text = promptText(format, this.#question.question, chatTemplate);
    const part = (each: string, beginsText = false): Segment => {
      return { kind: "prompt", tokens: tokenizer.encode(each, { beginsText }), text: each };
    };
    if (documents === undefined) return [part(text, true)];
    const at = text.indexOf(documentsHere);
    const shown: Segment = { kind: "observation", tokens: this.#encode(documents), text: documents };
    return [part(text.slice(0, at), true), shown, part(text.slice(at + documentsHere.length))];
  }

  /** Gives the sequences back. */
  async close(): Promise<void> {
    await Promise.all(this.#sequences.map((sequence) => sequence.close()));
  }

  /** The record of all that was done. */
  toTrajectory(answer: string | undefined): Trajectory {
    const { id } = this.#question;
    const sum = (value: (talk: Talk) => number): number =>
      this.#talks.reduce((total, talk) => total + value(talk), 0);
    return {
      ...{ id: `${id}#0`, questionId: id },
      segments: this.#segments(),
      turns: sum(({ turns }) => turns),
      stop: this.#stop(answer),
      answer,
      rounds: this.#queries.length,
      queries: this.#queries.map((query) => [query]),
      invalidActions: this.invalidActions,
      failures: this.#failures.length,
      ...(this.#failures.length > 0 ? { failureReasons: this.#failures } : {}),
      timings: {
        generateMs: sum(({ generateMs }) => generateMs),
        searchMs: this.#searchMs,
        totalMs: performance.now() - this.#started,
      },
      weightsVersion: this.#talks.find((talk) => talk.weightsVersion !== undefined)?.weightsVersion ?? 0,
    };
  }

  /** Of all conversations, one after the other; of several, each turn says what it saw. */
  #segments(): Segment[] {
    const [only, another] = this.#talks;
    if (another === undefined) return only?.segments ?? [];
    let first = 0;
    return this.#talks.flatMap(({ segments }) => {
      const start = first;
      first += segments.length;
      return segments.map((segment, i) => {
        const visible = Array.from({ length: i }, (_, place) => start + place);
        return segment.kind === "policy" ? { ...segment, visible } : segment;
      });
    });
  }

  #stop(answer: string | undefined): StopReason {
    if (this.isAborted) return "aborted";
    if (answer !== undefined) return "answer";
    if (this.ranOut) return "max_turns";
    const last = this.#talks.at(-1)?.lastStop ?? "context";
    return last === "stop" ? "invalid" : last;
  }
}
