/** Items while they are being written, and the events that tell of it. */
import type { SampledToken, TextPiece } from "../../../reply/tokens.ts";
import { logprobsOf } from "../../fields/logprobs.ts";
import {
  type CallItem,
  type ItemStatus,
  type MessageItem,
  newItemId,
  type ReasoningItem,
  sealed,
  type TextPart,
  type UrlCitation,
} from "./item.ts";

/** An event without its number. */
export interface ToldEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What is told beyond the text. */
export interface Telling {
  readonly logprobs: boolean;
  /** Whether thoughts come in a form that clients only send back, too. */
  readonly sealedThoughts: boolean;
}

/** An item that is being written. */
export interface OpenItem {
  /** Events that open it. */
  begin(): ToldEvent[];
  /** Events that go on with it. */
  add(piece: TextPiece): ToldEvent[];
  /** Events that close it. */
  end(status: ItemStatus): ToldEvent[];
  /** As it stands. */
  item(status: ItemStatus): MessageItem | ReasoningItem | CallItem;
}

/** The events that begin and end every item. */
function itemEvent(step: "added" | "done", output_index: number, item: object): ToldEvent {
  return { type: `response.output_item.${step}`, output_index, item };
}

/** Where an item's text stands, which all of its events name. */
interface Place {
  readonly item_id: string;
  readonly output_index: number;
}

/** What is said. */
export class OpenMessage implements OpenItem {
  readonly #id = newItemId("message");
  readonly #place: Place & { readonly content_index: 0 };
  readonly #telling: Telling;
  readonly #tokens: SampledToken[] = [];
  readonly #annotations: UrlCitation[] = [];
  #text = "";

  constructor(index: number, telling: Telling) {
    this.#place = { item_id: this.#id, output_index: index, content_index: 0 };
    this.#telling = telling;
  }

  begin(): ToldEvent[] {
    const part: TextPart = { type: "output_text", text: "", annotations: [], logprobs: [] };
    const item = { ...this.item("in_progress"), content: [] };
    return [
      itemEvent("added", this.#place.output_index, item),
      { type: "response.content_part.added", ...this.#place, part },
    ];
  }

  add({ text, tokens }: TextPiece): ToldEvent[] {
    this.#text += text;
    if (this.#telling.logprobs) this.#tokens.push(...tokens);
    if (text === "" && !(this.#telling.logprobs && tokens.length > 0)) return [];
    const type = "response.output_text.delta";
    return [{ type, ...this.#place, delta: text, logprobs: this.#logprobs(tokens) }];
  }

  /** A citation, its place counted within this message. */
  annotate(annotation: UrlCitation): ToldEvent[] {
    const annotation_index = this.#annotations.push(annotation) - 1;
    const type = "response.output_text.annotation.added";
    return [{ type, ...this.#place, annotation_index, annotation }];
  }

  end(status: ItemStatus): ToldEvent[] {
    const item = this.item(status);
    const [part] = item.content;
    const logprobs = this.#logprobs(this.#tokens);
    return [
      { type: "response.output_text.done", ...this.#place, text: this.#text, logprobs },
      { type: "response.content_part.done", ...this.#place, part },
      itemEvent("done", this.#place.output_index, item),
    ];
  }

  item(status: ItemStatus): MessageItem {
    const part: TextPart = {
      type: "output_text",
      text: this.#text,
      annotations: [...this.#annotations],
      logprobs: this.#logprobs(this.#tokens),
    };
    return { type: "message", id: this.#id, status, role: "assistant", content: [part] };
  }

  #logprobs(tokens: readonly SampledToken[]): object[] {
    return this.#telling.logprobs ? logprobsOf(tokens) : [];
  }
}

/**
 * What is thought. It comes in the events of a summary: the specification's own for thoughts (`response.reasoning.delta`) and
 * OpenAI's (`response.reasoning_text.delta`) have different names, and OpenAI's client throws at one that it does not know.
 */
export class OpenReasoning implements OpenItem {
  readonly #id = newItemId("reasoning");
  readonly #place: Place & { readonly summary_index: 0 };
  readonly #telling: Telling;
  #text = "";

  constructor(index: number, telling: Telling) {
    this.#place = { item_id: this.#id, output_index: index, summary_index: 0 };
    this.#telling = telling;
  }

  begin(): ToldEvent[] {
    const item = { ...this.item("in_progress"), summary: [], content: [] };
    const part = { type: "summary_text", text: "" };
    return [
      itemEvent("added", this.#place.output_index, item),
      { type: "response.reasoning_summary_part.added", ...this.#place, part },
    ];
  }

  add({ text }: TextPiece): ToldEvent[] {
    this.#text += text;
    if (text === "") return [];
    return [{ type: "response.reasoning_summary_text.delta", ...this.#place, delta: text }];
  }

  end(status: ItemStatus): ToldEvent[] {
    const item = this.item(status);
    const [part] = item.summary;
    return [
      { type: "response.reasoning_summary_text.done", ...this.#place, text: this.#text },
      { type: "response.reasoning_summary_part.done", ...this.#place, part },
      itemEvent("done", this.#place.output_index, item),
    ];
  }

  item(status: ItemStatus): ReasoningItem {
    const text = this.#text;
    return {
      type: "reasoning",
      id: this.#id,
      status,
      summary: [{ type: "summary_text", text }],
      content: [{ type: "reasoning_text", text }],
      ...(this.#telling.sealedThoughts ? { encrypted_content: sealed(text) } : {}),
    };
  }
}

/** A call of a function. */
export class OpenCall implements OpenItem {
  readonly #id = newItemId("function_call");
  readonly #index: number;
  readonly #callId: string;
  readonly #name: string;
  #arguments = "";

  constructor(index: number, { id, name }: { readonly id: string; readonly name: string }) {
    this.#index = index;
    this.#callId = id;
    this.#name = name;
  }

  begin(): ToldEvent[] {
    return [itemEvent("added", this.#index, this.item("in_progress"))];
  }

  add({ text }: TextPiece): ToldEvent[] {
    this.#arguments += text;
    const type = "response.function_call_arguments.delta";
    return text === "" ? [] : [{ type, item_id: this.#id, output_index: this.#index, delta: text }];
  }

  end(status: ItemStatus): ToldEvent[] {
    const item = this.item(status);
    const { id: item_id, name, arguments: text } = item;
    const type = "response.function_call_arguments.done";
    return [
      { type, item_id, output_index: this.#index, name, arguments: text },
      itemEvent("done", this.#index, item),
    ];
  }

  item(status: ItemStatus): CallItem {
    const { name, arguments: text } = { name: this.#name, arguments: this.#arguments };
    return { type: "function_call", id: this.#id, status, call_id: this.#callId, name, arguments: text };
  }
}
