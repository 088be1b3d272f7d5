/** A reply as OpenTelemetry is told of it: its span, spans of an agent's searches, times. */
import type { Attributes, Span } from "@opentelemetry/api";
import { SeekError } from "../../../lib/base/errors.ts";
import { Usage } from "../api/fields/usage.ts";
import { Refusal } from "../http/refusal.ts";
import type { ReplyEvent } from "../reply/reply.ts";
import { provider, type ReplyHistograms } from "./names.ts";

/** Who is told of a reply. */
interface WatchedParts {
  readonly span: Span;
  /** Begins a span within it. */
  beginInner(name: string, attributes: Attributes): Span;
  /** Those that metrics have too. */
  readonly attributes: Attributes;
  readonly histograms: ReplyHistograms | undefined;
  /** Of the request; its reason is why a reply ended early. */
  readonly signal: AbortSignal;
}

/** OpenTelemetry's number for a span that failed; its enum is not loaded for one number. */
const failedStatus = 2;

/** A failure as a word, of which there are few. */
function errorTypeOf(error: unknown): string {
  if (error instanceof Refusal || error instanceof SeekError) return error.code;
  return error instanceof Error ? error.name : "_OTHER";
}

/** When a choice began, and how long its tokens took. */
interface ChoiceTimes {
  firstAt: number;
  perToken?: number;
}

/** Watches one reply to its end. */
export class WatchedReply {
  readonly #parts: WatchedParts;
  readonly #startedAt = performance.now();
  readonly #usage = new Usage();
  readonly #searches = new Map<string, Span>();
  readonly #reasons: string[] = [];
  readonly #choices = new Map<number, ChoiceTimes>();

  constructor(parts: WatchedParts) {
    this.#parts = parts;
  }

  /** Takes the next event. */
  add(event: ReplyEvent): void {
    this.#usage.add(event);
    if (event.type === "start") return;
    if (!this.#choices.has(event.choice)) this.#choices.set(event.choice, { firstAt: performance.now() });
    if (event.type === "search") this.#search(event);
    if (event.type === "finish") this.#finish(event);
  }

  /** Ends the span. @param error - what the reply failed with; one that was left early has its request's reason */
  end(error?: unknown): void {
    const { span, signal } = this.#parts;
    const cause = error ?? (signal.aborted ? signal.reason : undefined);
    for (const search of this.#searches.values()) search.end();
    const { numPrompt, numCached, numSampled, numReasoning } = this.#usage;
    span.setAttributes({
      "gen_ai.usage.input_tokens": numPrompt,
      "gen_ai.usage.cache_read.input_tokens": numCached,
      "gen_ai.usage.output_tokens": numSampled,
      "gen_ai.usage.reasoning.output_tokens": numReasoning,
      ...(this.#reasons.length > 0 ? { "gen_ai.response.finish_reasons": this.#reasons } : {}),
    });
    const failure = cause === undefined ? {} : { "error.type": errorTypeOf(cause) };
    if (cause !== undefined) span.setStatus({ code: failedStatus }).setAttributes(failure);
    this.#measure(failure);
    span.end();
  }

  #finish({ choice, reason, numTokens }: Extract<ReplyEvent, { type: "finish" }>): void {
    this.#reasons[choice] = reason;
    const times = this.#choices.get(choice);
    if (times === undefined || numTokens < 2) return;
    times.perToken = (performance.now() - times.firstAt) / 1000 / (numTokens - 1);
  }

  /** A search begins without passages and ends with them. */
  #search({ id, passages, hasFailed }: Extract<ReplyEvent, { type: "search" }>): void {
    const begun = this.#searches.get(id) ?? this.#beginSearch(id);
    if (passages === undefined) return;
    if (hasFailed) begun.setStatus({ code: failedStatus }).setAttribute("error.type", "search_failed");
    begun.end();
    this.#searches.delete(id);
  }

  #beginSearch(id: string): Span {
    const begun = this.#parts.beginInner("execute_tool search", {
      ...provider,
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "search",
      "gen_ai.tool.type": "datastore",
      "gen_ai.tool.call.id": id,
    });
    this.#searches.set(id, begun);
    return begun;
  }

  /** Times of tokens are those of replies that succeeded. */
  #measure(failure: Attributes): void {
    const { histograms, attributes } = this.#parts;
    if (histograms === undefined) return;
    const labels = { ...attributes, ...failure };
    histograms.duration.record((performance.now() - this.#startedAt) / 1000, labels);
    if ("error.type" in failure) return;
    const choices = [...this.#choices.values()];
    const firstAt = Math.min(...choices.map((choice) => choice.firstAt));
    if (choices.length > 0) histograms.first.record((firstAt - this.#startedAt) / 1000, labels);
    for (const { perToken } of choices)
      if (perToken !== undefined) histograms.perToken.record(perToken, labels);
  }
}
