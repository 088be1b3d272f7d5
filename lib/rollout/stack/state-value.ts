/** State values: how uncertain the policy is of what it has just written (TC-RAG, arXiv 2408.09199). */
import { SeekError } from "../../base/errors.ts";
import type { Memory } from "../memory.ts";
import type { TextCodec } from "../seams.ts";
import type { FormatTurns } from "../session/format-turns.ts";
import type { Turn } from "../session/session.ts";

/**
 * The first token of a turn that belongs to the text from a place on.
 *
 * @param tokenizer - of the turn
 * @param ids - the turn's tokens `[T]`
 * @param start - a place in the turn's text
 * @returns its number, `T` when the text ends before
 * @example
 * const ids = tokenizer.encode("<answer> Rome </answer>");
 * assert.ok(tokenizer.decode(ids.subarray(tokenAt(tokenizer, ids, 8))).endsWith(" Rome </answer>"));
 */
export function tokenAt(tokenizer: TextCodec, ids: Int32Array, start: number): number {
  let [low, high] = [0, ids.length];
  // The text of the first tokens never shrinks with their number.
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tokenizer.decode(ids.subarray(0, middle)).length <= start) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The state value of a thought or an answer, over the tokens behind its opening tag.
 *
 * @param turns - of a session whose sequence ends with the turn
 * @param turn - with entropies for the mean entropy
 * @param options - which value; where the text behind the opening tag begins
 * @returns nats, or a perplexity from 1 on; infinite for a turn without such tokens
 * @throws ERR_ARGUMENT when the sequence gives no entropies or no scores
 */
export async function stateValue(
  { session, rollout }: FormatTurns,
  { ids, entropies }: Turn,
  { kind, start }: { readonly kind: Exclude<Memory["stateValue"], "none">; readonly start: number },
): Promise<number> {
  const first = tokenAt(rollout.tokenizer, ids, start);
  if (first === ids.length) return Number.POSITIVE_INFINITY;
  if (kind === "entropy") return meanFrom(known(entropies, "entropies"), first);
  const scores = await session.sequence.score?.(ids, { after: session.segments[0]!.tokens.length });
  return Math.exp(-meanFrom(known(scores?.logprobs, "score()"), first));
}

function known<T>(value: T | undefined, name: string): T {
  if (value !== undefined) return value;
  throw new SeekError("ERR_ARGUMENT", `sequence: the state value needs ${name}, got none`);
}

function meanFrom(values: Float32Array, first: number): number {
  let sum = 0;
  for (let i = first; i < values.length; i += 1) sum += values[i]!;
  return sum / (values.length - first);
}
