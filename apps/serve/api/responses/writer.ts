/** A reply as a response: which events tell of it, and what it is in the end. */
import { SeekError } from "../../../../lib/base/errors.ts";
import { type Refusal, refusalBody } from "../../http/refusal.ts";
import type { ReplyEvent } from "../../reply/reply.ts";
import type { SampledToken, TextPiece } from "../../reply/tokens.ts";
import { passageUrl } from "../fields/passage-url.ts";
import { Usage } from "../fields/usage.ts";
import type { Item, ItemStatus } from "./items/item.ts";
import {
  OpenCall,
  type OpenItem,
  OpenMessage,
  OpenReasoning,
  type Telling,
  type ToldEvent,
} from "./items/open-items.ts";
import { OpenSearch } from "./items/search-item.ts";
import {
  type ResponseHead,
  type ResponseObject,
  type ResponseStatus,
  resourceOf,
  usageOf,
} from "./resource.ts";

type EventOf<Type extends ReplyEvent["type"]> = Extract<ReplyEvent, { readonly type: Type }>;

/** An event of a stream. */
export interface ResponseEvent extends ToldEvent {
  /** From 0. */
  readonly sequence_number: number;
}

/** Writes a response, one event of its reply after the other. */
export class ResponseWriter {
  readonly #head: ResponseHead;
  readonly #telling: Telling;
  readonly #usage = new Usage();
  readonly #output: Item[] = [];
  /** Searches go on while other items begin and end. */
  readonly #searches = new Map<string, OpenSearch>();
  /** Tokens of a text whose first character is still to come. */
  readonly #held: SampledToken[] = [];
  #open: { readonly item: OpenItem; readonly index: number } | undefined;
  #numEvents = 0;
  /** UTF-16 units of the choice's text: all of it, and that before the last message. */
  #textLength = 0;
  #messageStart = 0;
  #status: ResponseStatus = "in_progress";
  #error: ResponseObject["error"] = null;

  constructor(head: ResponseHead, telling: Telling) {
    this.#head = head;
    this.#telling = telling;
  }

  /** The response as it stands; an item that is being written is not in it yet. */
  get response(): ResponseObject {
    const isOver = this.#status !== "in_progress";
    return resourceOf(this.#head, {
      status: this.#status,
      output: [...this.#output],
      usage: isOver ? usageOf(this.#usage) : null,
      error: this.#error,
    });
  }

  /** Whether the last event was told. */
  get isDone(): boolean {
    return this.#status !== "in_progress";
  }

  /** The first events. */
  begin(): ResponseEvent[] {
    const { response } = this;
    return this.#numbered([
      { type: "response.created", response },
      { type: "response.in_progress", response },
    ]);
  }

  /**
   * Takes the reply's next event.
   *
   * @returns what is told of it
   * @throws ERR_INTERNAL for events in an order that no reply has
   */
  take(event: ReplyEvent): ResponseEvent[] {
    this.#usage.add(event);
    return this.#numbered(this.#told(event));
  }

  /** The last events of a response that cannot go on. */
  failed(refusal: Refusal): ResponseEvent[] {
    if (this.#open !== undefined) this.#output[this.#open.index] = this.#open.item.item("incomplete");
    this.#status = "failed";
    this.#error = { code: refusal.code, message: refusal.message };
    const { error } = refusalBody(refusal, "error", "") as { readonly error: object };
    return this.#numbered([
      { type: "error", error },
      { type: "response.failed", response: this.response },
    ]);
  }

  #numbered(events: readonly ToldEvent[]): ResponseEvent[] {
    return events.map((event) => ({ ...event, sequence_number: this.#numEvents++ }));
  }

  #told(event: ReplyEvent): ToldEvent[] {
    switch (event.type) {
      case "start":
        return [];
      case "text":
        return this.#say(event);
      case "reasoning":
        return this.#think(event);
      case "toolCall":
        return this.#call(event);
      case "toolArguments":
        return this.#openAs(OpenCall, "arguments of a call that is not open").add(event);
      case "search":
        return this.#search(event);
      case "citation":
        return this.#cite(event);
      case "finish":
        return this.#finish(event);
    }
  }

  #say({ text, tokens }: TextPiece): ToldEvent[] {
    const isOpen = this.#open?.item instanceof OpenMessage;
    if (text === "" && !isOpen) {
      this.#held.push(...tokens);
      return [];
    }
    const opening = isOpen ? [] : this.#beginMessage();
    const message = this.#openAs(OpenMessage, "text without a message");
    this.#textLength += text.length;
    return [...opening, ...message.add({ text, tokens: [...this.#held.splice(0), ...tokens] })];
  }

  #beginMessage(): ToldEvent[] {
    this.#messageStart = this.#textLength;
    const closing = this.#close("completed");
    return [...closing, ...this.#begin(new OpenMessage(this.#output.length, this.#telling))];
  }

  #think(event: TextPiece): ToldEvent[] {
    const isOpen = this.#open?.item instanceof OpenReasoning;
    // The blank line between two thoughts is none within an item.
    const text = isOpen ? event.text : event.text.trimStart();
    if (text === "" && !isOpen) return [];
    const closing = isOpen ? [] : this.#close("completed");
    const opening = isOpen ? [] : this.#begin(new OpenReasoning(this.#output.length, this.#telling));
    return [...closing, ...opening, ...this.#openAs(OpenReasoning, "a thought").add({ ...event, text })];
  }

  #call(event: EventOf<"toolCall">): ToldEvent[] {
    // They were the words around a call.
    this.#held.length = 0;
    return [...this.#close("completed"), ...this.#begin(new OpenCall(this.#output.length, event))];
  }

  #cite({ passage, quote, start, end }: EventOf<"citation">): ToldEvent[] {
    const message = this.#openAs(OpenMessage, "a citation without a message");
    return message.annotate({
      type: "url_citation",
      url: passageUrl(passage),
      title: passage.title,
      start_index: start - this.#messageStart,
      end_index: end - this.#messageStart,
      quote,
    });
  }

  #search(event: EventOf<"search">): ToldEvent[] {
    const known = this.#searches.get(event.id);
    const search = known ?? new OpenSearch(this.#output.length, event.queries);
    const opening = known === undefined ? [...this.#close("completed"), ...search.begin()] : [];
    // Closing an item leaves the length of the output as it is: its place was taken when it began.
    const ending =
      event.passages === undefined
        ? []
        : search.end(event.hasFailed ? "failed" : "completed", event.passages);
    this.#output[search.index] = search.item;
    if (event.passages === undefined) this.#searches.set(event.id, search);
    else this.#searches.delete(event.id);
    return [...opening, ...ending];
  }

  #finish({ reason }: EventOf<"finish">): ToldEvent[] {
    const status = reason === "length" ? "incomplete" : "completed";
    // A reply in which nothing was said is a message all the same.
    const empty = this.#output.length === 0 ? this.#beginMessage() : [];
    const closing = [...empty, ...this.#close(status)];
    for (const search of this.#searches.values()) {
      closing.push(...search.end("failed", []));
      this.#output[search.index] = search.item;
    }
    this.#status = status;
    return [...closing, { type: `response.${status}`, response: this.response }];
  }

  #begin(item: OpenItem): ToldEvent[] {
    this.#open = { item, index: this.#output.length };
    this.#output.push(item.item("in_progress"));
    return item.begin();
  }

  #close(status: ItemStatus): ToldEvent[] {
    if (this.#open === undefined) return [];
    const { item, index } = this.#open;
    this.#open = undefined;
    this.#output[index] = item.item(status);
    return item.end(status);
  }

  /** The open item, which is of a kind. */
  #openAs<Kind extends OpenItem>(kind: abstract new (...args: never[]) => Kind, what: string): Kind {
    const item = this.#open?.item;
    if (item instanceof kind) return item;
    throw new SeekError("ERR_INTERNAL", `response: ${what}`);
  }
}
