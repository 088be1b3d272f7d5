/** Items: what a conversation is made of, as it is told, kept and taken back. */
import { newId } from "../../../reply/ids.ts";

/** How far an item is. */
export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** A place in a passage that bears out what was said. */
export interface UrlCitation {
  readonly type: "url_citation";
  readonly url: string;
  readonly title: string;
  /** UTF-16 units of the part's text. */
  readonly start_index: number;
  readonly end_index: number;
  /** What stands in the passage; not of the specification. */
  readonly quote: string;
}

/** A text of a message, of the client or of the model. */
export interface TextPart {
  readonly type: "input_text" | "output_text";
  readonly text: string;
  readonly annotations?: readonly UrlCitation[] | undefined;
  readonly logprobs?: readonly object[] | undefined;
}

/** Something that was said. */
export interface MessageItem {
  readonly type: "message";
  readonly id: string;
  readonly status: ItemStatus;
  readonly role: "user" | "assistant" | "system" | "developer";
  readonly content: readonly TextPart[];
}

/** Thoughts, as they are in both places: most clients show the summary alone. */
export interface ReasoningItem {
  readonly type: "reasoning";
  readonly id: string;
  readonly status: ItemStatus;
  readonly summary: readonly object[];
  readonly content: readonly { readonly type: "reasoning_text"; readonly text: string }[];
  readonly encrypted_content?: string | undefined;
}

/** A function that the client is to call. */
export interface CallItem {
  readonly type: "function_call";
  readonly id: string;
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** What a function gave. */
export interface CallOutputItem {
  readonly type: "function_call_output";
  readonly id: string;
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly output: string;
}

/** A search that an agent did, in the form of OpenAI's hosted search. */
export interface SearchItem {
  readonly type: "web_search_call";
  readonly id: string;
  readonly status: ItemStatus | "searching" | "failed";
  readonly action: {
    readonly type: "search";
    readonly query: string;
    readonly queries: readonly string[];
    readonly sources?: readonly object[] | undefined;
  };
}

/** A conversation made short. */
export interface CompactionItem {
  readonly type: "compaction";
  readonly id: string;
  readonly status: ItemStatus;
  readonly encrypted_content: string;
}

/** One step of a conversation. */
export type Item = MessageItem | ReasoningItem | CallItem | CallOutputItem | SearchItem | CompactionItem;

const prefixes = {
  message: "msg_",
  reasoning: "rs_",
  function_call: "fc_",
  function_call_output: "fco_",
  web_search_call: "ws_",
  compaction: "cmp_",
} as const;

/** A name that no other item has. */
export function newItemId(type: Item["type"]): string {
  return newId(prefixes[type]);
}

/** A text that clients send back as it is. It is no secret: this server hides nothing of a conversation from who has it. */
export function sealed(text: string): string {
  return Buffer.from(JSON.stringify({ text })).toString("base64url");
}

/** What {@link sealed} was given; undefined for what it did not make. */
export function unsealed(content: string): string | undefined {
  const json = Buffer.from(content, "base64url").toString();
  const [begin, end] = ['{"text":', "}"];
  if (!json.startsWith(`${begin}"`) || !json.endsWith(end)) return undefined;
  try {
    // One text: values within each other, which take long to read, are no JSON here.
    return JSON.parse(json.slice(begin.length, -end.length)) as string;
  } catch {
    return undefined;
  }
}
