/** A reply as the events of Anthropic's streams. */
import type { ChoiceEnd, FoundPassage, ReplyEvent } from "../../reply/reply.ts";
import { passageUrl } from "../fields/passage-url.ts";
import { Usage } from "../fields/usage.ts";
import type { Block, Citation, Delta, Message, MessageEvent, SearchResult, StopReason } from "./message.ts";

/** What is told of a reply. */
interface Told {
  /** Of the message. */
  readonly id: string;
  /** As it was asked for. */
  readonly model: string;
  /** Whether thoughts are told as blocks without their text. */
  readonly hidesThoughts: boolean;
}

type Search = ReplyEvent & { readonly type: "search" };
type ContentEvent = Exclude<ReplyEvent, { readonly type: "start" | "finish" }>;

function resultOf(passage: FoundPassage): SearchResult {
  const { title, text } = passage;
  return {
    type: "web_search_result",
    url: passageUrl(passage),
    title,
    encrypted_content: text,
    page_age: null,
  };
}

function citationOf({ passage, quote }: ReplyEvent & { readonly type: "citation" }): Citation {
  const { id, title } = passage;
  const url = passageUrl(passage);
  return { type: "web_search_result_location", url, title, cited_text: quote, encrypted_index: id };
}

/** Anthropic's search has one query a call. */
const searchId = (id: string, place: number): string => `srvtoolu_${id.replace(/\W/g, "_")}_${place}`;

function stopOf({ reason, stopText }: ChoiceEnd): Pick<Message, "stop_reason" | "stop_sequence"> {
  const reasons = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use" } as const;
  const isCut = reason === "stop" && stopText !== undefined;
  const stop_reason: StopReason = isCut ? "stop_sequence" : reasons[reason];
  return { stop_reason, stop_sequence: isCut ? stopText : null };
}

/** Blocks one after the other, each begun when its first piece comes and ended when another begins. */
class Blocks {
  /** Queries that were searched for. */
  numSearches = 0;
  readonly #hidesThoughts: boolean;
  #numBegun = 0;
  #open: Block["type"] | undefined;

  constructor(hidesThoughts: boolean) {
    this.#hidesThoughts = hidesThoughts;
  }

  *add(event: ContentEvent): Generator<MessageEvent> {
    if (event.type === "reasoning") {
      // The blank line between two thoughts is none within a block.
      const thinking = this.#open === "thinking" ? event.text : event.text.trimStart();
      yield* this.#within({ type: "thinking", thinking: "", signature: "" });
      const isTold = thinking !== "" && !this.#hidesThoughts;
      if (isTold) yield this.#more({ type: "thinking_delta", thinking });
    } else if (event.type === "text") {
      if (event.text === "") return;
      yield* this.#within({ type: "text", text: "" });
      yield this.#more({ type: "text_delta", text: event.text });
    } else if (event.type === "citation") {
      yield* this.#within({ type: "text", text: "" });
      yield this.#more({ type: "citations_delta", citation: citationOf(event) });
    } else if (event.type === "toolCall") {
      yield* this.#begin({ type: "tool_use", id: event.id, name: event.name, input: {} });
    } else if (event.type === "toolArguments") {
      if (event.text !== "") yield this.#more({ type: "input_json_delta", partial_json: event.text });
    } else if (event.type === "search") yield* this.#search(event);
  }

  /** Ends the open block. */
  *end(): Generator<MessageEvent> {
    if (this.#open !== undefined) yield { type: "content_block_stop", index: this.#numBegun - 1 };
    this.#open = undefined;
  }

  *#search({ id, queries, passages }: Search): Generator<MessageEvent> {
    if (passages === undefined) this.numSearches += queries.length;
    for (const [place, query] of queries.entries()) {
      const call = searchId(id, place);
      if (passages === undefined) {
        yield* this.#begin({ type: "server_tool_use", id: call, name: "web_search", input: {} });
        yield this.#more({ type: "input_json_delta", partial_json: JSON.stringify({ query }) });
      } else {
        const content = (passages[place] ?? []).map(resultOf);
        yield* this.#begin({ type: "web_search_tool_result", tool_use_id: call, content });
      }
      yield* this.end();
    }
  }

  *#begin(block: Block): Generator<MessageEvent> {
    yield* this.end();
    this.#open = block.type;
    yield { type: "content_block_start", index: this.#numBegun++, content_block: block };
  }

  *#within(block: Block): Generator<MessageEvent> {
    if (this.#open !== block.type) yield* this.#begin(block);
  }

  #more(delta: Delta): MessageEvent {
    return { type: "content_block_delta", index: this.#numBegun - 1, delta };
  }
}

/** Tokens that were kept are counted beside those that were read, not among them. */
function usageOf({ numPrompt, numCached, numSampled }: Usage): Message["usage"] {
  return {
    input_tokens: numPrompt - numCached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: numCached,
    output_tokens: numSampled,
  };
}

function totalOf(usage: Usage, numSearches: number): Message["usage"] {
  return {
    ...usageOf(usage),
    output_tokens_details: { thinking_tokens: usage.numReasoning },
    ...(numSearches > 0
      ? { server_tool_use: { web_search_requests: numSearches, web_fetch_requests: 0 } }
      : {}),
  };
}

/**
 * Tells a reply of one choice in Anthropic's events.
 *
 * @param reply - closed when the events are no more asked for
 * @param told - of the message
 */
export async function* messageEvents(
  reply: AsyncIterable<ReplyEvent>,
  { id, model, hidesThoughts }: Told,
): AsyncGenerator<MessageEvent, void, undefined> {
  const blocks = new Blocks(hidesThoughts);
  const usage = new Usage();
  for await (const event of reply) {
    usage.add(event);
    if (event.type === "start") {
      const stopped = { stop_reason: null, stop_sequence: null } as const;
      const message = { id, type: "message", role: "assistant", model, content: [], ...stopped } as const;
      yield { type: "message_start", message: { ...message, usage: usageOf(usage) } };
      yield { type: "ping" };
    } else if (event.type === "finish") {
      yield* blocks.end();
      yield { type: "message_delta", delta: stopOf(event), usage: totalOf(usage, blocks.numSearches) };
      yield { type: "message_stop" };
    } else yield* blocks.add(event);
  }
}
