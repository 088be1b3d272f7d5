/** What shards are together: their order, their sizes, how they can be searched. */
import { SeekError } from "../../../lib/base/errors.ts";
import type { Bm25Whole } from "../../../lib/search/bm25.ts";
import type { SearchMode } from "../../../lib/search/index-folder/find.ts";
import type { Description } from "./answers.ts";
import type { ReplicaSet } from "./replica-set.ts";

/** A shard, and where its passages stand among all. */
export interface PlacedShard extends Pick<Description, "digest" | "passages" | "live" | "exact"> {
  readonly servers: ReplicaSet;
  /** Row of its first passage in the whole. */
  readonly first: number;
}

/** All shards of a corpus, in the order of its passages. */
export interface Whole extends Bm25Whole {
  readonly shards: readonly PlacedShard[];
  readonly mode: SearchMode;
}

/** A shard and what its servers say of it. */
type Described = readonly [servers: ReplicaSet, description: Description];

function refuse(servers: ReplicaSet, expected: string, got: string): never {
  throw new SeekError("ERR_ARGUMENT", `${servers.name}: expected ${expected}, got ${got}`);
}

function checkAlike(shards: readonly Described[]): void {
  const [[first, wanted]] = shards as [Described];
  for (const [servers, { plan, mode }] of shards) {
    if (plan !== wanted.plan) refuse(servers, `the settings and the embedder of ${first.name}`, "others");
    if (mode !== wanted.mode) refuse(servers, `mode ${wanted.mode}, as ${first.name} is served`, mode);
  }
}

/** The part that a shard was built as must be the one at its place. */
function checkPlace([servers, { part }]: Described, place: number, count: number): void {
  if (part === undefined) refuse(servers, "a part of a corpus, as the others are", "an index of its own");
  if (part.index === place && part.count === count) return;
  refuse(servers, `part ${place} of ${count}`, `part ${part.index} of ${part.count}`);
}

/** A shard that was changed no longer holds the passages that its place says. */
function checkSizes(ordered: readonly Described[]): void {
  let end = 0;
  for (const [i, [servers, { part, passages }]] of ordered.entries()) {
    const first = part?.first ?? 0;
    if (first !== end) refuse(servers, `a part that begins at passage ${end}`, `one that begins at ${first}`);
    end = ordered[i + 1]?.[1].part?.first ?? part?.total ?? 0;
    if (first + passages !== end)
      refuse(servers, `the ${end - first} passages that it was built with`, `${passages} after a change`);
  }
}

/** Shards that know their place stand in that order; others in the order in which they were named. */
function inOrder(shards: readonly Described[]): readonly Described[] {
  if (shards.every(([, { part }]) => part === undefined)) return shards;
  const ordered = [...shards].sort(([, a], [, b]) => (a.part?.index ?? 0) - (b.part?.index ?? 0));
  for (const [i, shard] of ordered.entries()) checkPlace(shard, i + 1, ordered.length);
  checkSizes(ordered);
  return ordered;
}

function modeOf([, { mode: served }]: Described, asked: SearchMode | undefined, name: string): SearchMode {
  if (asked === undefined || asked === served || served === "hybrid") return asked ?? served;
  throw new SeekError("ERR_ARGUMENT", `mode: expected ${served}, as ${name} is served, got ${asked}`);
}

/**
 * Asks shards what they are, and puts them together.
 *
 * @param servers - of each shard
 * @param mode - how they are to be searched; as they are served unless given
 * @throws ERR_ARGUMENT for shards that do not belong together; ERR_REMOTE
 */
export async function wholeOf(servers: readonly ReplicaSet[], mode: SearchMode | undefined): Promise<Whole> {
  const found = await Promise.all(
    servers.map(async (each): Promise<Described> => [each, await each.describe()]),
  );
  checkAlike(found);
  const ordered = inOrder(found);
  let [numPassages, numTerms] = [0, 0];
  const shards = ordered.map(([each, { digest, passages, live, exact, terms }]): PlacedShard => {
    const first = numPassages;
    numPassages += passages;
    numTerms += terms;
    return { servers: each, digest, first, passages, live, exact };
  });
  const [first] = found as [Described];
  return { shards, numPassages, numTerms, mode: modeOf(first, mode, first[0].name) };
}
