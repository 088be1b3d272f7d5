/** One question being answered: its sessions, searches and calls, each within its limits and recorded for the trajectory. */
import { checkOptions } from "../../base/check-options.ts";
import { beforeDeadline } from "../../base/deadline.ts";
import { messageOf, SeekError } from "../../base/errors.ts";
import { mixSeed } from "../../base/random.ts";
import type { Question } from "../../data/question.ts";
import { askSearch, type Hit, type Search } from "../../search/search.ts";
import type { TitledText } from "../../text/observation.ts";
import { defaultLimits, type Limits } from "../limits.ts";
import type { MemoryRecord } from "../memory.ts";
import type { OpenSequence, PromptTemplate, Sampling, SequenceSource, TextCodec } from "../seams.ts";
import type { ToolBox, ToolCall } from "../tools/tool-box.ts";
import type { RecordedPassage, Segment, StopReason, Trajectory } from "../trajectory.ts";
import type { EventOptions } from "./events.ts";
import { type Opening, openingKinds, openingSegments } from "./prompt.ts";
import { Session, type Turn } from "./session.ts";

/** What an agent is made of. */
export interface RolloutParts {
  readonly engine: SequenceSource;
  readonly tokenizer: TextCodec;
  /** Turns messages into the text the model reads; without one they stand alone. */
  readonly chatTemplate?: PromptTemplate | undefined;
  /** @default every search fails */
  readonly search?: Search | undefined;
  /** Runs the calls of a turn, for agents with tools. @default none */
  readonly tools?: ToolBox | undefined;
  /** `maxTurns` holds for agents with a format only. @default RAG-R1's */
  readonly limits?: Partial<Limits>;
  /** How tokens are drawn. @default temperature 1 */
  readonly sampling?: Sampling;
}

/** Which rollout it is, and who gets its events. */
interface RolloutRun extends EventOptions {
  readonly question: Question;
  /** Counts the rollouts of one question. */
  readonly sample: number;
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
  /** See {@link RolloutOptions}. */
  readonly answerNow?: AbortSignal | undefined;
  /** Opens the first session, for rollouts that share its prompt. @default the engine */
  readonly first?: SequenceSource | undefined;
}

/** How a rollout ended. */
export interface Outcome {
  readonly answer?: string | undefined;
  /** Without an answer. @default how the last turn ended; `stop` is an invalid one */
  readonly stop?: StopReason | "stop";
  /** Of a memory stack. */
  readonly memory?: MemoryRecord;
}

/** How much later than the deadline of its calls a box of tools may give their results. */
const toolSlackMs = 1000;

const noSearch: Search = async () => {
  throw new SeekError("ERR_ARGUMENT", "search: expected one among the agent's parts, got none");
};

/** The sessions, searches and calls of one question; what an agent's function is given. */
export class Rollout {
  /** Turns that held nothing of what was asked for. */
  invalidActions = 0;
  /** Queries that were asked and not searched for, being too many. */
  droppedQueries = 0;
  readonly limits: Limits;
  readonly tokenizer: TextCodec;
  readonly tools: ToolBox | undefined;
  readonly #parts: RolloutParts;
  readonly #run: RolloutRun;
  readonly #sessions: (Session | undefined)[] = [];
  readonly #sequences: OpenSequence[] = [];
  readonly #queries: (readonly string[])[] = [];
  readonly #found: ((readonly RecordedPassage[])[] | null)[] = [];
  readonly #failures: string[] = [];
  readonly #started = performance.now();
  #searchMs = 0;

  /** Agents make it. @internal */
  constructor(parts: RolloutParts, run: RolloutRun) {
    this.limits = boundLimits(parts);
    this.tokenizer = parts.tokenizer;
    this.tools = parts.tools;
    this.#parts = parts;
    this.#run = run;
  }

  /** Whether the caller no longer wants an answer. */
  get isAborted(): boolean {
    return this.#run.signal?.aborted === true;
  }

  /** Fires when the caller wants the answer without further searching. @internal */
  get answerNow(): AbortSignal | undefined {
    return this.#run.answerNow;
  }

  /** Opens a session. @throws ERR_ARGUMENT for an unknown key; what the chat template and the engine throw */
  async open(opening: Opening): Promise<Session> {
    checkOptions("rollout.open", opening, openingKinds);
    const { tokenizer, chatTemplate, engine, sampling = { temperature: 1 } } = this.#parts;
    const { signal, onEvent, isStreamed, question, first = engine } = this.#run;
    const segments = openingSegments(opening, this.#parts);
    const tokens = Int32Array.from(segments.flatMap((segment) => [...segment.tokens]));
    // Its place in the list is taken at once: sessions side by side keep their order.
    const index = this.#sessions.push(undefined) - 1;
    const seed = index === 0 ? this.#run.seed : mixSeed(this.#run.seed, question.id, index);
    const sequence = await (index === 0 ? first : engine).open(tokens, { seed });
    this.#sequences.push(sequence);
    const session = new Session(sequence, segments, {
      ...{ tokenizer, chatTemplate, prefix: opening.prefix ?? "", sampling, seed, index },
      ...{ limits: this.limits, signal, onEvent, isStreamed },
    });
    this.#sessions[index] = session;
    return session;
  }

  /** A session of one turn. @throws as {@link Rollout.open} */
  async generate(opening: Opening, stop: readonly string[]): Promise<Turn> {
    const session = await this.open(opening);
    return session.generate({ stop });
  }

  /** What one query finds; undefined when the search failed, which is counted. */
  async search(query: string): Promise<readonly Hit[] | undefined> {
    return (await this.searchAll([query]))?.[0];
  }

  /** What each query finds, all asked at once; undefined when the search failed, which is counted. */
  async searchAll(queries: readonly string[]): Promise<readonly (readonly Hit[])[] | undefined> {
    const { search = noSearch } = this.#parts;
    const { topK, searchTimeoutMs } = this.limits;
    const { round, result } = await this.#attempt(queries, searchTimeoutMs, async (signal) =>
      queries.length === 0 ? [] : askSearch(search, queries, { topK, signal }),
    );
    if (result !== undefined) this.#tellFound(round, result);
    return result;
  }

  /**
   * Runs calls in the agent's box of tools, all at once, each with a deadline of its own; those that fail are counted.
   *
   * @param texts - as the policy wrote them
   * @param read - reads one of them, for example `parseJsonCall`
   * @returns what the policy shall read of each, a failure too; undefined when there are no tools or the box itself failed
   */
  async call(
    texts: readonly string[],
    read: (text: string) => ToolCall,
  ): Promise<readonly (readonly TitledText[])[] | undefined> {
    const { tools } = this;
    const timeoutMs = this.limits.searchTimeoutMs;
    const { round, result: results } = await this.#attempt(texts, timeoutMs + toolSlackMs, async (signal) => {
      if (tools === undefined) throw new SeekError("ERR_ARGUMENT", "tools: expected a box, got none");
      return tools.run(texts.map(read), { timeoutMs, signal });
    });
    if (results === undefined) return undefined;
    for (const { failure } of results) if (failure) this.#fail(`${failure.kind}: ${failure.message}`);
    const documents = results.map(
      ({ text, documents, failure }) => documents ?? (failure ? [] : [{ title: "", text }]),
    );
    this.#tellFound(round, documents);
    return results.map(({ text }) => [{ title: "", text }]);
  }

  /**
   * Uses a function as a tool; undefined when it failed or came too late, which is counted as a failed search is.
   *
   * @param query - what it is asked, for the record
   * @param tool - whatever it does; `signal` fires at the deadline
   */
  async use<Result>(
    query: string,
    tool: (query: string, options: { readonly signal: AbortSignal }) => Result | Promise<Result>,
  ): Promise<Result | undefined> {
    const { searchTimeoutMs } = this.limits;
    return (await this.#attempt([query], searchTimeoutMs, async (signal) => tool(query, { signal }))).result;
  }

  /** The beginning of a text, at most as long as an observation may be. */
  shorten(text: string, maxTokens = this.limits.maxObservationTokens): string {
    const ids = this.tokenizer.encode(text, { parseSpecialTokens: false });
    return ids.length <= maxTokens ? text : wholeText(this.tokenizer, ids.subarray(0, maxTokens));
  }

  /** Gives the sequences back. */
  async close(): Promise<void> {
    await Promise.all(this.#sequences.map((sequence) => sequence.close()));
  }

  /** The record of all that was done. */
  toTrajectory({ answer, stop, memory }: Outcome): Trajectory {
    const { question, sample } = this.#run;
    const sessions = this.#sessions.filter((session) => session !== undefined);
    const sum = (value: (session: Session) => number): number =>
      sessions.reduce((total, session) => total + value(session), 0);
    return {
      id: `${question.id}#${sample}`,
      questionId: question.id,
      segments: joined(sessions),
      turns: sum(({ turns }) => turns),
      stop: this.#stop({ answer, stop }, sessions.at(-1)),
      answer,
      rounds: this.#queries.length,
      queries: this.#queries,
      found: this.#found.some((round) => round !== null) ? this.#found : undefined,
      invalidActions: this.invalidActions,
      droppedQueries: this.droppedQueries || undefined,
      failures: this.#failures.length,
      failureReasons: this.#failures.length > 0 ? this.#failures : undefined,
      memory,
      timings: {
        generateMs: sum(({ generateMs }) => generateMs),
        searchMs: this.#searchMs,
        totalMs: performance.now() - this.#started,
      },
      weightsVersion: sessions.find(({ turns }) => turns > 0)?.weightsVersion ?? 0,
    };
  }

  /** Work of the outside world before its deadline: timed, and counted when it fails (law 7). */
  async #attempt<Result>(
    queries: readonly string[],
    timeoutMs: number,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<{ readonly round: number; readonly result: Result | undefined }> {
    const round = this.#queries.push(queries) - 1;
    this.#found.push(null);
    this.#run.onEvent?.({ type: "queries", queries });
    const started = performance.now();
    const outcome = await beforeDeadline(work, { timeoutMs, signal: this.#noSearch });
    this.#searchMs += performance.now() - started;
    if (outcome.kind === "done") return { round, result: outcome.result };
    if (outcome.kind === "failed") this.#fail(messageOf(outcome.error));
    if (outcome.kind === "timed out") this.#fail(`no answer within ${timeoutMs} ms`);
    if (outcome.kind === "aborted") this.#fail("given up, because the agent shall answer now");
    return { round, result: undefined };
  }

  #tellFound(round: number, documents: readonly (readonly (TitledText & Partial<Hit>)[])[]): void {
    this.#found[round] = documents.map((each) => each.map(({ id, title, score }) => ({ id, title, score })));
    this.#run.onEvent?.({ type: "documents", documents });
  }

  /** Fires when nobody waits for a search any more. */
  get #noSearch(): AbortSignal | undefined {
    const { signal, answerNow } = this.#run;
    return signal && answerNow ? AbortSignal.any([signal, answerNow]) : (signal ?? answerNow);
  }

  #fail(reason: string): void {
    if (this.isAborted) return;
    this.#failures.push(reason);
    this.#run.onEvent?.({ type: "failure", reason });
  }

  #stop({ answer, stop }: Outcome, last: Session | undefined): StopReason {
    if (answer !== undefined) return "answer";
    if (this.isAborted) return "aborted";
    const reason = stop ?? last?.ended ?? last?.lastStop ?? "invalid";
    return reason === "stop" ? "invalid" : reason;
  }
}

/** The limits, no longer than a sequence of the engine can be. */
export function boundLimits({ limits, engine }: Pick<RolloutParts, "limits" | "engine">): Limits {
  const all = { ...defaultLimits, ...limits };
  return { ...all, maxTokens: Math.min(all.maxTokens, engine.maxTokens ?? all.maxTokens) };
}

/** The text of ids that were cut out of a longer text: a cut inside of a character leaves replacement marks. */
export function wholeText(tokenizer: TextCodec, ids: Int32Array): string {
  return tokenizer.decode(ids).replace(/^\uFFFD+|\uFFFD+$/g, "");
}

/** Of all sessions, one after the other; of several, each turn says what it saw. */
function joined(sessions: readonly Session[]): readonly Segment[] {
  const [only, another] = sessions;
  if (another === undefined) return only?.segments ?? [];
  let first = 0;
  return sessions.flatMap(({ segments }) => {
    const start = first;
    first += segments.length;
    return segments.map((segment, i) => {
      const own = segment.visible ?? Array.from({ length: i }, (_, place) => place);
      const visible = own.map((place) => start + place);
      return segment.kind === "policy" ? { ...segment, visible } : segment;
    });
  });
}
