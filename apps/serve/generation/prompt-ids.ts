/** The ids of prompts, whose texts may be far longer than any model reads. */
import { jsonBlocks } from "../../../lib/base/slices/json-text.ts";
import { idsWithin } from "../../../lib/text/tokenizers/ids-within.ts";
import { pathOf, type Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { Refusal } from "../http/refusal.ts";
import { type EncodeForm, encoded } from "./encoded.ts";
import { askThread } from "./prompt-worker.ts";

/** A text, or a conversation as JSON, up to here is read where it is, characters: some milliseconds, whatever stands in it. */
export const shortLength = 1 << 13;

/** More characters than a token of any vocabulary has, and than normalisers leave out for one that they keep. */
const charsPerToken = 256;

/** Whether so many characters may be few enough tokens. */
export function mayFit(numChars: number, contextTokens: number): boolean {
  return numChars <= contextTokens * charsPerToken;
}

/** The refusal of a prompt that is far longer than the context. */
export function farLonger(numChars: number, contextTokens: number): Refusal {
  const got = `far more in ${numChars} characters`;
  return new Refusal(
    "context_length_exceeded",
    `prompt: expected fewer than ${contextTokens} tokens, got ${got}`,
  );
}

/** How a prompt becomes ids. */
interface PromptReader {
  readonly tokenizer: Pick<Tokenizer, "encode"> & { readonly vocabSize?: number | undefined };
  /** Longest conversation of the model. */
  readonly contextTokens: number;
  readonly form: EncodeForm;
}

/**
 * Encodes a prompt, in a time that depends on the context rather than on the text; a long one on a thread of its own, where
 * the tokenizer was loaded from files.
 *
 * @param text - of the prompt
 * @throws Refusal for a text that is far longer than the context
 */
export async function promptIdsOf(text: string, reader: PromptReader): Promise<Int32Array> {
  const { contextTokens: most, tokenizer, form } = reader;
  if (!mayFit(text.length, most)) throw farLonger(text.length, most);
  const path = text.length > shortLength ? pathOf(tokenizer) : undefined;
  const ids =
    path === undefined
      ? idsWithin(text, most, (part) => encoded(part, tokenizer, form))
      : (await askThread({ kind: "encode", path, json: await jsonBlocks(text), form, most }, tokenizer)).ids;
  if (ids !== undefined) return ids;
  throw farLonger(text.length, most);
}
