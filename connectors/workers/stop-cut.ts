/** Where a turn ends within the ids that a server sampled: as the engine ends it, over bytes. */
import type { TokenTable } from "../../lib/engine/vocabulary.ts";

/** What of a tokenizer ends turns. */
export type EndTable = Pick<TokenTable, "eosIds" | "tokenBytes">;

/** How many ids a turn has, and what ended it. */
interface TurnEnd {
  readonly length: number;
  readonly stop: "stop" | "eos";
}

/**
 * The first end of text, or token that completes a stop string. What a server samples behind it, several tokens at a time,
 * is dropped: the ids before it were drawn without it.
 *
 * @param ids - i32 [T], sampled
 * @param stop - stop strings, none of them empty
 * @param table - of the tokenizer
 * @returns undefined where no id ends the turn
 * @example
 * const table = { eosIds: [9], tokenBytes: (id: number) => new TextEncoder().encode("ab</c>"[id] ?? "") };
 * assert.deepEqual(turnEnd(Int32Array.of(0, 1, 2, 3, 4, 5, 0), ["</c>"], table), { length: 6, stop: "stop" });
 */
export function turnEnd(ids: Int32Array, stop: readonly string[], table: EndTable): TurnEnd | undefined {
  const wanted = stop.map((text) => Buffer.from(text));
  const longest = wanted.reduce((most, { length }) => Math.max(most, length), 1);
  let tail = Buffer.alloc(0);
  for (const [i, id] of ids.entries()) {
    if (table.eosIds.includes(id)) return { length: i + 1, stop: "eos" };
    const kept = Math.min(tail.length, longest - 1);
    tail = Buffer.concat([tail.subarray(tail.length - kept), table.tokenBytes(id)]);
    if (wanted.some((text) => tail.includes(text))) return { length: i + 1, stop: "stop" };
  }
  return undefined;
}
