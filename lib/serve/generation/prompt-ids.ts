/** The ids of prompts, whose texts may be far longer than any model reads. */
import { idsWithin } from "../../text/tokenizers/ids-within.ts";
import { Refusal } from "../http/refusal.ts";

/**
 * Encodes a prompt, in a time that depends on the context rather than on the text.
 *
 * @param text - of the prompt
 * @param contextTokens - longest conversation of the model
 * @param encode - turns a text into ids
 * @throws Refusal for a text that is far longer than the context
 */
export function promptIdsOf(
  text: string,
  contextTokens: number,
  encode: (text: string) => Int32Array,
): Int32Array {
  const ids = idsWithin(text, contextTokens, encode);
  if (ids !== undefined) return ids;
  const message = `prompt: expected fewer than ${contextTokens} tokens, got far more in ${text.length} characters`;
  throw new Refusal("context_length_exceeded", message);
}
