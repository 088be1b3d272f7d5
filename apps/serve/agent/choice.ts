/** One choice of an agent's reply: its rollout, told as it happens. */
import { drawsFromPolicy } from "../../../lib/engine/sampling-options.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { ragTags } from "../../../lib/rollout/formats/format.ts";
import type { AgentEvent } from "../../../lib/rollout/session/events.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import type { TitledText } from "../../../lib/text/observation.ts";
import { cutMarks } from "../../../lib/text/tokenizers/spelt-marks.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { newId } from "../reply/ids.ts";
import type { AgentBudget, FoundPassage, ReplyEvent } from "../reply/reply.ts";
import { BudgetClock } from "./budget-clock.ts";
import { ChoiceEngine } from "./choice-engine.ts";
import { citationsOf } from "./citations.ts";
import { PartReader } from "./part-reader.ts";
import type { AgentModelParts } from "./parts.ts";
import { TurnText } from "./turn-text.ts";

/** What is asked of one choice. */
export interface AskedChoice {
  readonly choice: number;
  readonly question: string;
  readonly seed: number;
  readonly sampling: ConstructorParameters<typeof ChoiceEngine>[1]["sampling"];
  readonly maxTokens: number;
  readonly budget: AgentBudget;
  readonly onEvent: (event: ReplyEvent) => void;
  readonly signal: AbortSignal;
}

/** A search that has not told what it found. */
interface OpenSearch {
  readonly id: string;
  readonly queries: readonly string[];
  hasFailed: boolean;
}

/** Runs one choice. */
export class AgentChoice {
  readonly #parts: AgentModelParts;
  readonly #asked: AskedChoice;
  readonly #clock: BudgetClock;
  readonly #engine: ChoiceEngine;
  readonly #reader: PartReader;
  readonly #queries: string[] = [];
  readonly #passages: FoundPassage[] = [];
  #turnText: TurnText | undefined;
  #search: OpenSearch | undefined;
  #answer = "";

  constructor(parts: AgentModelParts, asked: AskedChoice) {
    const { choice, onEvent, signal, budget, sampling, maxTokens } = asked;
    const { format } = parts.recipe;
    const doubts = format.memory && (format.memory.stateValue !== "none" || format.memory.minActions > 0);
    this.#parts = parts;
    this.#asked = asked;
    this.#clock = new BudgetClock({ budget, signal, canAnnounce: format.lastTurn !== "" });
    this.#engine = new ChoiceEngine(parts.engine, {
      ...{ sampling, maxTokens },
      onStart: (numPromptTokens, numCachedTokens) =>
        onEvent({ type: "start", choice, numPromptTokens, numCachedTokens }),
      onSpent: () => this.#clock.stop(),
    });
    const { tags = ragTags } = format;
    this.#reader = new PartReader({
      ...{ tags, isHeld: tags.isPart === true || doubts === true },
      onPiece: ({ type, text, tokens }) => {
        if (type === "text") this.#answer += text;
        onEvent({ type, choice, text, tokens });
      },
    });
  }

  /** Runs it to its end, told by `finish`, or until the signal fires. */
  async run(): Promise<void> {
    const { question, seed, signal } = this.#asked;
    const agent = searchAgent({ ...this.#agentParts(), sampling: {} });
    using clock = this.#clock;
    const events = agent.stream(
      { question: this.#spelt(question) },
      { seed, signal: clock.signal, answerNow: clock.answerNow, onEvent: (event) => clock.see(event) },
    );
    let reason: "stop" | "length" | undefined;
    let segments: Trajectory["segments"] | undefined;
    for await (const event of events) {
      // What an agent does behind its answer is not told.
      if (reason !== undefined && event.type !== "answer" && event.type !== "done") break;
      reason ??= this.#take(event);
      if (event.type === "done") segments = event.trajectory.segments;
    }
    if (!signal.aborted && reason !== undefined) this.#finish(reason, segments);
  }

  /** A mark that the question spells is text. */
  #spelt(question: string): string {
    const { tokenizer } = this.#parts;
    return "specialTokens" in tokenizer
      ? cutMarks(question, (tokenizer as Tokenizer).specialTokens)
      : question;
  }

  #agentParts() {
    const { recipe, search, tokenizer, chatTemplate, contextTokens } = this.#parts;
    const { format, tools, limits, searchThrough } = recipe;
    const { topK = limits.topK } = this.#asked.budget;
    return {
      ...{ engine: this.#engine, tokenizer, chatTemplate, format, tools },
      search: searchThrough?.(search) ?? search,
      limits: { ...limits, topK, maxTokens: Math.min(limits.maxTokens, contextTokens) },
    };
  }

  /** @returns why the choice ended, if it did */
  #take(event: AgentEvent): "stop" | "length" | undefined {
    if (event.type === "text") this.#write(event.ids);
    if (event.type === "turn") return this.#endTurn(event);
    if (event.type === "queries") this.#beginSearch(event.queries);
    if (event.type === "documents") this.#endSearch(event.documents);
    if (event.type === "failure" && this.#search) this.#search.hasFailed = true;
    return event.type === "done" ? this.#end(event.trajectory) : undefined;
  }

  #write(ids: Int32Array): void {
    if (this.#turnText === undefined) {
      this.#settle();
      this.#turnText = new TurnText(this.#parts.tokenizer);
      this.#reader.beginTurn();
    }
    const logprobs = this.#engine.takeLogprobs(ids.length);
    for (const [i, id] of ids.entries()) {
      const { token, text } = this.#turnText.push(id, logprobs[i] as number);
      this.#reader.push(token, text);
    }
    this.#clock.isAnswering = this.#reader.isAnswering;
  }

  /** An answer that was told is the reply, even where its turn left it open. */
  #endTurn({ stop }: Extract<AgentEvent, { type: "turn" }>): "stop" | "length" | undefined {
    this.#reader.endTurn(this.#turnText?.end());
    this.#turnText = undefined;
    if (!this.#reader.hasAnswered) return undefined;
    const isCut = stop === "length" || stop === "aborted";
    return isCut && !this.#reader.isAnswerClosed ? "length" : "stop";
  }

  #beginSearch(queries: readonly string[]): void {
    this.#settle();
    this.#queries.push(...queries);
    this.#search = { id: newId("search_"), queries, hasFailed: false };
    const { choice, onEvent } = this.#asked;
    onEvent({ type: "search", choice, id: this.#search.id, queries });
  }

  #endSearch(documents: readonly (readonly TitledText[])[]): void {
    if (this.#search === undefined) return;
    const { choice, onEvent } = this.#asked;
    const { id, queries, hasFailed } = this.#search;
    this.#search = undefined;
    const passages = documents.map((list) => list.map(passageOf));
    this.#passages.push(...passages.flat());
    onEvent({ type: "search", choice, id, queries, passages, ...(hasFailed ? { hasFailed } : {}) });
  }

  /** Tells what came of a search or of an answer once the rollout has gone on without them. */
  #settle(): void {
    if (this.#search !== undefined) this.#endSearch(this.#search.queries.map(() => []));
    this.#reader.demote();
  }

  #end({ answer, stop }: Trajectory): "stop" | "length" {
    if (answer === undefined) this.#settle();
    else this.#reader.release(answer);
    return answer !== undefined || stop === "invalid" || stop === "eos" ? "stop" : "length";
  }

  #finish(reason: "stop" | "length", segments: Trajectory["segments"] | undefined): void {
    this.#engine.start();
    const { choice, onEvent, question, sampling } = this.#asked;
    const isPolicys = drawsFromPolicy(sampling) && (sampling.temperature ?? 1) === 1;
    const { numSampled: numTokens, numRead, weightsVersion } = this.#engine;
    for (const citation of citationsOf(this.#answer, this.#passages, [question, ...this.#queries])) {
      onEvent({ type: "citation", choice, ...citation });
    }
    const { silent: tokens, numReasoningTokens } = this.#reader;
    const numPromptTokens = numRead;
    onEvent({
      ...{ type: "finish", choice, reason, tokens, numTokens, numReasoningTokens, numPromptTokens },
      ...{ weightsVersion, segments, drawnFrom: segments && isPolicys ? "policy" : "shaped" },
    });
  }
}

function passageOf(
  found: TitledText & { readonly id?: string; readonly url?: string; readonly score?: number },
): FoundPassage {
  const { title, text, id = title, score } = found;
  const url = found.url ?? (/^https?:\/\//.test(id) ? id : undefined);
  return { id, title, text, url, score };
}
