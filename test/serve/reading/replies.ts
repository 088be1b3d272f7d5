/** Reads replies for tests, cut into pieces at random, and puts together what comes out. */
import assert from "node:assert/strict";
import { type ReplyFormat, replyFormatNamed } from "../../../apps/serve/reading/reply-format.ts";
import { type ReaderOptions, ReplyReader } from "../../../apps/serve/reading/reply-reader.ts";
import type { ReadEvent, ReplyPiece } from "../../../apps/serve/reading/reply-text.ts";

/** What a reply says, in its order. */
export type Part =
  | { readonly reasoning: string }
  | { readonly text: string }
  | { readonly name: string; readonly arguments: string };

/** Functions that most tests have. */
export const functions = [
  {
    name: "search",
    parameters: {
      type: "object",
      properties: { query: { type: "string" }, k: { type: "integer" }, tags: { type: "array" } },
      required: ["query"],
    },
  },
  { name: "get_time", parameters: { type: "object", properties: {} } },
];

/** Random numbers from 0 to before 1; mulberry32. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Pieces of up to `longest` characters, each with a token or a few, which count up. */
export function cut(text: string, longest: number, seed: number): ReplyPiece<number>[] {
  const random = randomNumbers(seed);
  const pieces: ReplyPiece<number>[] = [];
  let numTokens = 0;
  for (let at = 0; at < text.length; ) {
    const length = Math.floor(random() * (longest + 1));
    const tokens = Array.from({ length: Math.floor(random() * 3) }, () => numTokens++);
    pieces.push({ text: text.slice(at, at + length), tokens });
    at += length;
  }
  return pieces;
}

/** What came out, put together. */
export function together(events: readonly ReadEvent<number>[]): Part[] {
  const parts: Part[] = [];
  const append = (key: "reasoning" | "text" | "arguments", text: string): void => {
    if (text === "") return;
    const last = parts.at(-1);
    if (last !== undefined && key in last) (last as Record<string, string>)[key] += text;
    else {
      assert.notEqual(key, "arguments", "arguments follow their call");
      parts.push({ [key]: text } as unknown as Part);
    }
  };
  let index = -1;
  for (const event of events) {
    if (event.type === "toolCall") {
      index += 1;
      assert.equal(event.index, index);
      parts.push({ name: event.name, arguments: "" });
    } else {
      if (event.type === "toolArguments") assert.equal(event.index, index);
      append(event.type === "toolArguments" ? "arguments" : event.type, event.text);
    }
  }
  return parts;
}

/** Reads pieces and checks that every token came out once, in order. */
export function readPieces(
  format: ReplyFormat,
  pieces: readonly ReplyPiece<number>[],
  options: ReaderOptions = { functions },
): Part[] {
  const reader = new ReplyReader<number>(format, options);
  const events = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
  const tokens = events.flatMap((event) => (event.type === "toolCall" ? [] : event.tokens));
  assert.deepEqual(
    tokens,
    pieces.flatMap((piece) => piece.tokens),
  );
  return together(events);
}

/** Reads a text as one piece, and checks that pieces of every size give the same. */
export function read(name: string, text: string, options: ReaderOptions = { functions }): Part[] {
  const format = replyFormatNamed(name);
  const whole = readPieces(format, [{ text, tokens: [0] }], options);
  for (const [seed, longest] of [1, 1, 2, 3, 5, 9, 40].entries())
    assert.deepEqual(readPieces(format, cut(text, longest, seed), options), whole, `pieces up to ${longest}`);
  return whole;
}
