/** Reads a model's reply as it is sampled: reasoning, text and calls of functions. */
import { namedCall } from "./named-calls.ts";
import { objectCalls } from "./object-calls.ts";
import { functionTag, parametersCall } from "./parameter-calls.ts";
import type { CallableFunction, CallForm, ReplyFormat } from "./reply-format.ts";
import { type Channel, type ReadEvent, type Reading, type ReplyPiece, ReplyText } from "./reply-text.ts";
import { accept, markPattern, next, space, type Text, upTo } from "./steps.ts";

/** What a reader knows of the reply. */
export interface ReaderOptions {
  /** The functions that may be called. @default none, and nothing is read as a call */
  readonly functions?: readonly CallableFunction[];
  /** The prompt; one that ends with the mark of reasoning begins the reply within it. @default "" */
  readonly prompt?: string;
  /** What the prompt ends within, where the reply goes on with a message. @default the reply begins */
  readonly within?: BegunPart | undefined;
}

/** A part of a reply that was begun before it. */
export type BegunPart = "reasoning" | "text";

/**
 * Reads a reply piece by piece. Only what may still become a mark is held back, together with white space before it, which
 * marks take with them. A call whose name or arguments never begin as they should is text, word for word; one that ends too early
 * or goes wrong later has the arguments that were there, and what follows is text. Events do not depend on how the
 * text is cut, put together; reading takes time linear in the text and never throws.
 *
 * The text has to contain the marks of the format ({@link marksOf}), also where they are special tokens, but not the token that ends it.
 */
export class ReplyReader<Token> {
  readonly #text = new ReplyText<Token>();
  readonly #reading: Reading<void>;

  constructor(format: ReplyFormat, { functions = [], prompt = "", within }: ReaderOptions = {}) {
    const isReasoning = startsInReasoning(format, prompt);
    this.#reading = readReply(this.#text as Text, { format, functions, isReasoning, within });
    this.#reading.next();
  }

  /** Takes the next piece. @returns what is decided by it */
  push(piece: ReplyPiece<Token>): ReadEvent<Token>[] {
    this.#text.push(piece);
    this.#reading.next();
    return this.#text.takeEvents();
  }

  /** Ends the reply; call it once. @returns what was still held back */
  end(): ReadEvent<Token>[] {
    this.#text.finish();
    this.#reading.next();
    return this.#text.takeEvents();
  }
}

/** Whether a prompt ends within the model's reasoning. */
function startsInReasoning({ reasoning }: ReplyFormat, prompt: string): boolean {
  return prompt.trimEnd().endsWith(reasoning.begin);
}

interface Reply {
  readonly format: ReplyFormat;
  readonly functions: readonly CallableFunction[];
  readonly isReasoning: boolean;
  readonly within: BegunPart | undefined;
}

function* readReply(text: Text, reply: Reply): Reading<void> {
  const isText = reply.within === "text" || (yield* readReasoning(text, reply));
  const channel = isText ? "text" : "reasoning";
  if (channel === "text") yield* readAnswer(text, reply);
  text.end(channel);
}

/** @returns whether there is anything behind it */
function* readReasoning(text: Text, { format: { reasoning }, isReasoning, within }: Reply): Reading<boolean> {
  if (within === undefined) {
    yield* space(text);
    if (!(yield* accept(text, reasoning.begin)) && !isReasoning) return true;
    yield* afterMark(text, "reasoning");
  }
  if ((yield* upTo(text, markPattern([reasoning.end]), "reasoning")) === undefined) return false;
  yield* afterMark(text, "reasoning");
  return true;
}

/** Forgets a mark and the white space behind it. */
function* afterMark(text: Text, channel?: Channel): Reading<void> {
  text.drop(channel);
  yield* space(text);
  text.drop();
}

function* readAnswer(text: Text, reply: Reply): Reading<void> {
  const { calls, silent = [] } = reply.format;
  const { functions, within } = reply;
  const hasCalls = functions.length > 0;
  // A call without a mark is one at the beginning only.
  if (hasCalls && calls.isBare === true && within !== "text" && (yield* next(text)) === "{")
    yield* callsOrText(text, objectCalls(text, calls, new Set(functions.map(({ name }) => name))));
  const around = hasCalls && calls.all !== undefined ? [calls.all.begin, calls.all.end] : [];
  const unread = [...silent, ...around];
  const begins = calls.kind === "parameters" ? [calls.begin, functionTag] : [calls.begin];
  const pattern = markPattern(hasCalls ? [...unread, ...begins] : unread);
  for (;;) {
    const mark = yield* upTo(text, pattern, "text");
    if (mark === undefined) return;
    if (unread.includes(mark)) yield* afterMark(text);
    else yield* callsOrText(text, readCalls(text, { form: calls, functions, mark }));
  }
}

function* callsOrText(text: Text, reading: Reading<boolean>): Reading<void> {
  if (yield* reading) yield* afterMark(text, "toolArguments");
  else text.release("text");
}

/** Calls to read behind a mark. */
interface MarkedCalls {
  readonly form: CallForm;
  readonly functions: readonly CallableFunction[];
  readonly mark: string;
}

function readCalls(text: Text, { form, functions, mark }: MarkedCalls): Reading<boolean> {
  if (form.kind === "object") return objectCalls(text, form);
  if (form.kind === "named") return namedCall(text, form);
  return parametersCall(text, form, { functions, isOpen: mark === functionTag });
}
