/** The text of a reply as it comes, what of it is still undecided, and the events that are made of it. */
import { randomBytes } from "node:crypto";

/** A piece of a reply: some of its text, and the tokens that completed it. */
export interface ReplyPiece<Token> {
  readonly text: string;
  readonly tokens: readonly Token[];
}

/** What a piece of a reply turned out to be. */
export type ReadEvent<Token> =
  | { readonly type: "reasoning" | "text"; readonly text: string; readonly tokens: readonly Token[] }
  /** A call begins; its arguments follow. */
  | { readonly type: "toolCall"; readonly index: number; readonly id: string; readonly name: string }
  /** The next part of the JSON text of a call's arguments. */
  | {
      readonly type: "toolArguments";
      readonly index: number;
      readonly text: string;
      readonly tokens: readonly Token[];
    };

/** What text is released as. */
export type Channel = "reasoning" | "text" | "toolArguments";

/** Reads on until it needs more of the text, which each `yield` waits for. */
export type Reading<T> = Generator<undefined, T, undefined>;

/** An event that may still grow. */
type OpenEvent<Token> =
  | { readonly type: Channel; readonly index: number; text: string; readonly tokens: Token[] }
  | Extract<ReadEvent<Token>, { readonly type: "toolCall" }>;

type Piece<Token> = { readonly end: number; readonly tokens: readonly Token[] };

/**
 * Text in, events out. What is read is held until it is released as text or dropped as a mark, and a token comes out with the
 * event in which the last character of its piece does.
 */
export class ReplyText<Token> {
  #text = "";
  #at = 0;
  /** Characters before `#text`. */
  #before = 0;
  #isEnded = false;
  #surrogate: ReplyPiece<Token> | undefined;
  #held: string[] = [];
  #pieces: Piece<Token>[] = [];
  #events: OpenEvent<Token>[] = [];
  #channel: Channel = "text";
  #numCalls = 0;

  push({ text, tokens }: ReplyPiece<Token>): void {
    const { text: kept = "", tokens: keptTokens = [] } = this.#surrogate ?? {};
    const whole = kept + text;
    const all = [...keptTokens, ...tokens];
    // Half of a character would not be the same in JSON.
    const isCut = /[\ud800-\udbff]$/.test(whole);
    this.#surrogate = isCut ? { text: whole, tokens: all } : undefined;
    if (!isCut) this.#add(whole, all);
  }

  #add(text: string, tokens: readonly Token[]): void {
    this.#before += this.#at;
    this.#text = this.#text.slice(this.#at) + text;
    this.#at = 0;
    if (tokens.length > 0) this.#pieces.push({ end: this.#before + this.#text.length, tokens });
  }

  /** Nothing follows. */
  finish(): void {
    if (this.#surrogate !== undefined) this.#add(this.#surrogate.text, this.#surrogate.tokens);
    this.#surrogate = undefined;
    this.#isEnded = true;
  }

  /** The events since the last call. */
  takeEvents(): ReadEvent<Token>[] {
    const events = this.#events.map((event): ReadEvent<Token> => {
      if (event.type === "toolCall" || event.type === "toolArguments") return event;
      const { type, text, tokens } = event;
      return { type, text, tokens };
    });
    this.#events = [];
    return events;
  }

  /** Waits for more text. @returns whether there is any */
  *more(): Reading<boolean> {
    const length = this.#before + this.#text.length;
    while (this.#before + this.#text.length === length) {
      if (this.#isEnded) return false;
      yield;
    }
    return true;
  }

  /** What a global expression finds first in the text that is not read yet, its place counted from there. */
  find(pattern: RegExp): { readonly index: number; readonly match: RegExpExecArray } | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    return match === null ? undefined : { index: match.index - this.#at, match };
  }

  /** What is not read yet. */
  get rest(): string {
    return this.#text.slice(this.#at);
  }

  /** Reads so many characters, which are held. */
  take(length: number): string {
    const text = this.#text.slice(this.#at, this.#at + length);
    this.#at += length;
    if (text !== "") this.#held.push(text);
    return text;
  }

  /** Gives what is held as text of this kind. */
  release(channel: "reasoning" | "text"): void {
    this.write(channel, this.#held.join(""));
  }

  /** Forgets what is held: a mark. @param channel - takes its tokens; without one the next event does */
  drop(channel?: Channel): void {
    this.#held = [];
    if (channel !== undefined) this.write(channel, "");
  }

  /** Gives this text in the place of what is held. */
  write(channel: Channel, text: string): void {
    this.#held = [];
    this.#channel = channel;
    const read = this.#before + this.#at;
    const numDone = this.#pieces.findIndex(({ end }) => end > read);
    const done = this.#pieces.splice(0, numDone < 0 ? this.#pieces.length : numDone);
    this.#emit(
      text,
      done.flatMap(({ tokens }) => tokens),
    );
  }

  #emit(text: string, tokens: readonly Token[]): void {
    if (text === "" && tokens.length === 0) return;
    const type = this.#channel;
    const index = this.#numCalls - 1;
    let last = this.#events.at(-1);
    if (last?.type !== type || (last.type === "toolArguments" && last.index !== index)) {
      last = { type, index, text: "", tokens: [] };
      this.#events.push(last);
    }
    last.text += text;
    for (const token of tokens) last.tokens.push(token);
  }

  /** What is held, and what comes until the next event, belongs to a call. */
  beginCall(name: string, id = `call_${randomBytes(12).toString("hex")}`): void {
    this.#held = [];
    this.#channel = "toolArguments";
    this.#events.push({ type: "toolCall", index: this.#numCalls, id, name });
    this.#numCalls += 1;
  }

  /** Gives all that is left, tokens without text too. */
  end(channel: "reasoning" | "text"): void {
    const isText = this.#held.length > 0;
    this.write(isText ? channel : this.#channel, this.#held.join(""));
  }
}
