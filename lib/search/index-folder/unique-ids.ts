/** Every id stands for one passage of an index. */

import { native } from "../../base/addon/native.ts";
import { SeekError } from "../../base/errors.ts";
import type { PassageStore } from "../corpus/passage-store.ts";

/** Passages whose ids are compared. */
interface IdSource {
  readonly passages: PassageStore;
  /** Numbers of passages that do not count, ascending. */
  readonly removed: Int32Array;
}

/** How many repeated ids a message names. */
const maxNamed = 5;

/**
 * Compares the ids of all sources.
 *
 * @param sources passages that would make up one index
 * @throws ERR_ARGUMENT naming ids that stand for more than one passage
 */
export async function checkUniqueIds(sources: readonly IdSource[]): Promise<void> {
  const stores = sources.map(({ passages }) => passages.handle);
  const removed = sources.map((source) => source.removed);
  const repeated = await native().repeatedPassageIds(stores, removed, maxNamed + 1);
  if (repeated.length === 0) return;
  const named = repeated.slice(0, maxNamed).map((id) => JSON.stringify(id));
  const more = repeated.length > maxNamed ? " and others" : "";
  throw new SeekError(
    "ERR_ARGUMENT",
    `passages: expected every id once in an index, got ${named.join(", ")}${more} more often; remove the old passages first, or give the new ones other ids`,
  );
}
