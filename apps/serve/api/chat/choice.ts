/** One choice of a chat completion, as its events add up to it. */
import type { ReplyEvent } from "../../reply/reply.ts";
import type { SampledToken } from "../../reply/tokens.ts";
import { logprobsOf } from "../fields/logprobs.ts";
import { passageUrl } from "../fields/passage-url.ts";
import { DrawnIds } from "./drawn-ids.ts";

/** What of the tokens is told. */
export interface TokenTelling {
  readonly logprobs: boolean;
  readonly ids: boolean;
}

/** A call of a function. */
interface ChatToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; arguments: string };
}

type CitationEvent = Extract<ReplyEvent, { type: "citation" }>;
type SearchEvent = Extract<ReplyEvent, { type: "search" }>;

/** A citation in OpenAI's form, with the words of the passage beside it. */
export function annotationOf({ passage, quote, start, end }: CitationEvent) {
  const { id, title } = passage;
  return {
    type: "url_citation",
    url_citation: { url: passageUrl(passage), title, start_index: start, end_index: end },
    quote,
    passage_id: id,
  };
}

/** A search of an agent; OpenAI's protocol has no place for it. */
export function searchOf({ id, queries, passages, hasFailed }: SearchEvent) {
  return { id, queries, ...(passages ? { hits: passages } : {}), ...(hasFailed ? { failed: true } : {}) };
}

/** Gathers a choice. */
export class ChatChoice {
  readonly #index: number;
  readonly #told: TokenTelling;
  #content = "";
  #reasoning = "";
  readonly #calls: ChatToolCall[] = [];
  readonly #annotations: object[] = [];
  readonly #searches = new Map<string, object>();
  readonly #drawn = new DrawnIds();
  readonly #ids: number[] = [];
  readonly #textTokens: SampledToken[] = [];
  #end: { readonly finish_reason: string; readonly stop_reason: string | null } | undefined;

  constructor(index: number, told: TokenTelling) {
    this.#index = index;
    this.#told = told;
  }

  /** Takes the choice's next event. */
  add(event: ReplyEvent): void {
    if (this.#told.ids) this.#ids.push(...this.#drawn.next(event));
    if (event.type === "text") {
      this.#content += event.text;
      this.#textTokens.push(...event.tokens);
    } else if (event.type === "reasoning") this.#reasoning += event.text;
    else if (event.type === "toolCall") this.#begin(event);
    else if (event.type === "toolArguments") this.#continue(event);
    else if (event.type === "citation") this.#annotations.push(annotationOf(event));
    else if (event.type === "search") this.#searches.set(event.id, searchOf(event));
    else if (event.type === "finish") {
      this.#end = { finish_reason: event.reason, stop_reason: event.stopText ?? null };
    }
  }

  /** As a chat completion holds it. */
  toJSON(): object {
    const { logprobs, ids } = this.#told;
    return {
      index: this.#index,
      message: this.#message(),
      logprobs: logprobs ? { content: logprobsOf(this.#textTokens), refusal: null } : null,
      ...this.#end,
      ...(ids ? { token_ids: this.#ids } : {}),
    };
  }

  #message(): object {
    const isCall = this.#calls.length > 0 && this.#content === "";
    return {
      role: "assistant",
      content: isCall ? null : this.#content,
      refusal: null,
      ...(this.#reasoning === "" ? {} : { reasoning_content: this.#reasoning }),
      ...(this.#calls.length > 0 ? { tool_calls: this.#calls } : {}),
      ...(this.#annotations.length > 0 ? { annotations: this.#annotations } : {}),
      ...(this.#searches.size > 0 ? { seekrl: { searches: [...this.#searches.values()] } } : {}),
    };
  }

  #begin({ index, id, name }: Extract<ReplyEvent, { type: "toolCall" }>): void {
    this.#calls[index] = { id, type: "function", function: { name, arguments: "" } };
  }

  #continue({ index, text }: Extract<ReplyEvent, { type: "toolArguments" }>): void {
    const call = this.#calls[index];
    if (call !== undefined) call.function.arguments += text;
  }
}
