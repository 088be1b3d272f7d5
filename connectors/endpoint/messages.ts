/** Conversations as text with marks between the messages, so that they pass through an agent that knows texts only. */

import type { PromptTemplate, TextCodec } from "../../lib/rollout/seams.ts";
import type { ChatMessage } from "../remote/completions.ts";

/** What one side said. */
export interface Part {
  readonly role: string;
  readonly text: string;
}

// Of Unicode's private use; no text keeps them.
const [roleMark, textMark] = ["\u{F5E8}", "\u{F5E9}"];
const marks = /[\u{F5E8}\u{F5E9}]/gu;

/**
 * The template of a server that has its own: roles stay apart until the server puts them together.
 *
 * @example
 * const text = messageMarks.render([{ role: "user", content: "who?" }], { addGenerationPrompt: false });
 * assert.ok(text.includes("user") && text.endsWith("who?"));
 */
export const messageMarks: PromptTemplate = {
  render: (messages, { addGenerationPrompt }) => {
    const all = addGenerationPrompt ? [...messages, { role: "assistant", content: "" }] : messages;
    return all
      .map(({ role, content }) => `${roleMark}${role}${textMark}${content.replace(marks, "")}`)
      .join("");
  },
};

/** The messages in a text; what stands before the first mark is the user's. */
export function partsOf(text: string): Part[] {
  const [bare = "", ...marked] = text.split(roleMark);
  const messages = marked.map((each) => {
    const at = each.indexOf(textMark);
    return { role: each.slice(0, at), text: each.slice(at + 1) };
  });
  return bare === "" && messages.length > 0 ? messages : [{ role: "user", text: bare }, ...messages];
}

/** Messages for a server: neighbours of one role are one message, and nobody says nothing. */
export function toMessages(parts: readonly Part[]): ChatMessage[] {
  const messages: { role: string; content: string }[] = [];
  for (const { role, text } of parts) {
    const last = messages.at(-1);
    if (last?.role === role) last.content += text;
    else if (text !== "") messages.push({ role, content: text });
  }
  return messages;
}

/** One text for a server that continues it as it is. */
export function toText(parts: readonly Part[]): string {
  return parts.map(({ text }) => text).join("");
}

/**
 * A codec of words, blanks and signs, for a server whose tokenizer is not at hand: limits and counts are then in those.
 * Text that is not a prompt loses the marks of messages, so that a passage cannot speak as somebody else.
 *
 * @returns a codec with a vocabulary of its own, which grows with what it reads
 * @example
 * const codec = wordCodec();
 * const ids = codec.encode("The capital of France?");
 * assert.deepEqual([ids.length, codec.decode(ids)], [5, "The capital of France?"]);
 */
export function wordCodec(): TextCodec {
  const ids = new Map<string, number>();
  const pieces: string[] = [];
  const idOf = (piece: string): number => {
    const known = ids.get(piece);
    if (known !== undefined) return known;
    ids.set(piece, pieces.length);
    return pieces.push(piece) - 1;
  };
  return {
    encode: (text, { parseSpecialTokens = true } = {}) => {
      const kept = parseSpecialTokens ? text : text.replace(marks, "");
      return Int32Array.from(kept.match(/ ?[\p{L}\p{M}]+| ?\p{N}+|\s+|./gsu) ?? [], idOf);
    },
    decode: (encoded) => Array.from(encoded, (id) => pieces[id] ?? "").join(""),
  };
}

/** The same of a tokenizer that is at hand. */
export function withoutMarks(tokenizer: TextCodec): TextCodec {
  return {
    encode: (text, options) => {
      const parseSpecialTokens = options?.parseSpecialTokens ?? true;
      // The mark of a text's beginning is the server's to put.
      return tokenizer.encode(parseSpecialTokens ? text : text.replace(marks, ""), { parseSpecialTokens });
    },
    decode: (ids) => tokenizer.decode(ids),
  };
}
