/** Anthropic's message: what is answered at once, and what its events add up to. */

/** Why a message ended. */
export type StopReason = "end_turn" | "max_tokens" | "stop_sequence" | "tool_use";

/** A passage of an agent's search. */
export interface SearchResult {
  readonly type: "web_search_result";
  readonly url: string;
  readonly title: string;
  /** The passage's text, in the place where Anthropic has it sealed. */
  readonly encrypted_content: string;
  readonly page_age: null;
}

/** What a text rests on. */
export interface Citation {
  readonly type: "web_search_result_location";
  readonly url: string;
  readonly title: string;
  readonly cited_text: string;
  /** The passage's id. */
  readonly encrypted_index: string;
}

/** A part of a message. */
export type Block =
  | { readonly type: "text"; readonly text: string; readonly citations?: readonly Citation[] }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown }
  | {
      readonly type: "server_tool_use";
      readonly id: string;
      readonly name: "web_search";
      readonly input: unknown;
    }
  | {
      readonly type: "web_search_tool_result";
      readonly tool_use_id: string;
      readonly content: readonly SearchResult[];
    };

/** What goes on with the block that was begun last. */
export type Delta =
  | { readonly type: "text_delta"; readonly text: string }
  | { readonly type: "thinking_delta"; readonly thinking: string }
  | { readonly type: "input_json_delta"; readonly partial_json: string }
  | { readonly type: "citations_delta"; readonly citation: Citation };

/** Tokens of a message. */
interface MessageUsage {
  /** Those of the prompt that were computed. */
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: 0;
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
  readonly output_tokens_details?: { readonly thinking_tokens: number };
  readonly server_tool_use?: { readonly web_search_requests: number; readonly web_fetch_requests: 0 };
}

/** A message, or the beginning of one. */
export interface Message {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly content: readonly Block[];
  readonly stop_reason: StopReason | null;
  readonly stop_sequence: string | null;
  readonly usage: MessageUsage;
}

/** An event of a streamed message. */
export type MessageEvent =
  | { readonly type: "message_start"; readonly message: Message }
  | { readonly type: "ping" }
  | { readonly type: "content_block_start"; readonly index: number; readonly content_block: Block }
  | { readonly type: "content_block_delta"; readonly index: number; readonly delta: Delta }
  | { readonly type: "content_block_stop"; readonly index: number }
  | {
      readonly type: "message_delta";
      readonly delta: Pick<Message, "stop_reason" | "stop_sequence">;
      readonly usage: MessageUsage;
    }
  | { readonly type: "message_stop" };

/** Arguments that were cut off are no JSON; the stop reason says so, and nothing is made up for them. */
function inputOf(json: string): unknown {
  try {
    return json === "" ? {} : JSON.parse(json);
  } catch {
    return {};
  }
}

function grown(block: Block, delta: Delta): Block {
  if (delta.type === "text_delta" && block.type === "text")
    return { ...block, text: block.text + delta.text };
  if (delta.type === "citations_delta" && block.type === "text")
    return { ...block, citations: [...(block.citations ?? []), delta.citation] };
  if (delta.type === "thinking_delta" && block.type === "thinking")
    return { ...block, thinking: block.thinking + delta.thinking };
  return block;
}

/**
 * The message that events add up to.
 *
 * @param events - of one message, to its end
 */
export async function messageOf(events: AsyncIterable<MessageEvent>): Promise<Message | undefined> {
  let message: Message | undefined;
  const content: Block[] = [];
  let json = "";
  for await (const event of events) {
    if (event.type === "message_start") message = event.message;
    else if (event.type === "message_delta" && message)
      message = { ...message, ...event.delta, usage: event.usage };
    else if (event.type === "content_block_start") {
      content.push(event.content_block);
      json = "";
    } else if (event.type === "content_block_delta") {
      if (event.delta.type === "input_json_delta") json += event.delta.partial_json;
      else content[event.index] = grown(content[event.index] as Block, event.delta);
    } else if (event.type === "content_block_stop") {
      const block = content[event.index] as Block;
      if ("input" in block) content[event.index] = { ...block, input: inputOf(json) };
    }
  }
  return message && { ...message, content };
}
