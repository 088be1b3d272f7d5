/** One search over an index whose parts are served by several machines. */
import { checkArgument, checkOptions, numberIn, type OptionKinds } from "../../../lib/base/check-options.ts";
import { SeekError, throwIfAborted } from "../../../lib/base/errors.ts";
import { mapConcurrently } from "../../../lib/base/map-concurrently.ts";
import { fusedDepth, type SearchMode } from "../../../lib/search/index-folder/find.ts";
import type { Search } from "../../../lib/search/search.ts";
import { type TransportOptions, transportKind } from "../guard.ts";
import { type KeyOptions, keyKinds, optionalKey } from "../secret.ts";
import { searchShards } from "./fan-out.ts";
import { ReplicaSet } from "./replica-set.ts";
import { type Whole, wholeOf } from "./whole.ts";

/** Which servers, and how they are asked. */
export interface ShardedSearchOptions extends KeyOptions {
  /** Of each shard the addresses of its servers, which hold copies of the same index. */
  readonly shards: readonly (readonly string[])[];
  /** @default as the shards are served */
  readonly mode?: SearchMode | undefined;
  /** Queries of one request; longer lists become several. @default 128 */
  readonly maxQueries?: number;
  /** How long a server may take before another of its shard is asked as well, milliseconds. @default 1_000 */
  readonly hedgeAfterMs?: number;
  /**
   * `timeoutMs`, `maxConcurrent`, `breakAfter` (1 where a shard has several servers) and `coolMs` are a server's, `retries`
   * and `deadlineMs` a shard's.
   */
  readonly transport?: TransportOptions;
}

const optionKinds: OptionKinds<ShardedSearchOptions> = {
  shards: checkShards,
  mode: ["bm25", "dense", "hybrid"],
  maxQueries: numberIn({ from: 1, to: 4096, isWhole: true }),
  hedgeAfterMs: numberIn({ from: 1, to: 2 ** 31 - 1, isWhole: true }),
  transport: transportKind,
  ...keyKinds,
};

/** As many hits a server gives in one answer, unless it was told otherwise. */
const maxHits = 100_000;

function checkShards(name: string, value: unknown): void {
  checkArgument(name, value, "list");
  const shards = value as readonly unknown[];
  if (shards.length === 0)
    throw new SeekError("ERR_ARGUMENT", `${name}: expected at least one shard, got none`);
  for (const [i, urls] of shards.entries()) {
    checkArgument(`${name}[${i}]`, urls, "list");
    const list = urls as readonly unknown[];
    if (list.length === 0)
      throw new SeekError("ERR_ARGUMENT", `${name}[${i}]: expected the address of a server, got none`);
    for (const [j, url] of list.entries()) checkArgument(`${name}[${i}][${j}]`, url, "string");
  }
}

/**
 * Search over the shards of one index, each served by `retriever serve` on one machine or, as replicas, on several. Hits,
 * scores and order are those of one index over all passages, ties included: words are weighed by the frequencies of the
 * whole, and passages that score alike come in the order of the corpus. Where shards score candidates of `i8` or `b1` again,
 * each place has a passage as near as one index has there, or nearer; graphs find what they find, four small ones mostly more than a
 * large one.
 *
 * A shard's quickest server is asked first; one that fails is left out for `coolMs` and until its `/health` is good again.
 *
 * @param options - addresses, mode, key, transport
 * @returns a search that rejects with ERR_REMOTE naming the shard none of whose servers answers, and what each said;
 *   with ERR_ARGUMENT when the shards do not belong together; with ERR_ABORTED. It never answers without a shard.
 * @throws ERR_ARGUMENT for no shards or an address that is not http(s); ERR_RANGE
 * @example
 * const server = await serveRetriever({ search: await openIndex("index"), port: 0 });
 * const search = shardedSearch({ shards: [[server.url]] }); // one shard on one server
 * const [hits] = await search(["who told the story of the prodigal son"], { topK: 3 });
 * await server.close();
 */
export function shardedSearch(options: ShardedSearchOptions): Search {
  checkOptions("shardedSearch", options, optionKinds, ["shards"]);
  const { shards, mode, maxQueries = 128, hedgeAfterMs = 1_000, transport = {} } = options;
  const key = optionalKey(options);
  const servers = shards.map((urls, i) => {
    const name = `shard ${i + 1} of ${shards.length}`;
    return new ReplicaSet(name, urls, { key, hedgeAfterMs, transport });
  });
  let whole: Promise<Whole> | undefined;
  // For all who wait: no single signal ends it.
  const open = (): Promise<Whole> => {
    whole ??= wholeOf(servers, mode);
    return whole;
  };
  return async (queries, { topK, signal }) => {
    throwIfAborted(signal, "search");
    const size = Math.max(1, Math.min(maxQueries, Math.floor(maxHits / Math.max(topK, fusedDepth))));
    const parts = Array.from({ length: Math.ceil(queries.length / size) }, (_, i) =>
      queries.slice(i * size, (i + 1) * size),
    );
    try {
      const known = await open();
      throwIfAborted(signal, "search");
      const found = await mapConcurrently(parts, parts.length, (part) =>
        searchShards(known, { queries: part, topK, signal }),
      );
      return found.flat();
    } catch (error) {
      // The servers may have got another index: the next search looks.
      if (!signal?.aborted) whole = undefined;
      throw error;
    }
  };
}
