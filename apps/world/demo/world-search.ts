/** The built-in world with an index of its passages, opened for a demo. */
import { join } from "node:path";
import { withBatching } from "../../../lib/search/batching/batching.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import type { Search } from "../../../lib/search/search.ts";
import { createWorld, type World } from "../world.ts";

/**
 * How long a search gathers queries of other trajectories. A retrieval service answers in tens of milliseconds; a
 * thousand passages in this process take a tenth of one, and a round of retrieval would cost almost nothing. Nothing is
 * cached, or the mode that is evaluated last would look faster.
 */
const searchWindowMs = 10;

/** A world that can be searched. */
export interface OpenWorld extends Disposable {
  readonly world: World;
  readonly search: Search;
}

/** Which world, and what ends its indexing. */
interface WorldChoice {
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
}

/** Creates the world of a seed and indexes it in `out`. */
export async function openWorld(out: string, { seed, signal }: WorldChoice): Promise<OpenWorld> {
  const world = createWorld({ seed });
  await buildIndex({
    ...{ corpus: world.passages, out: indexFolder(out, seed), bm25: false, dense: { kind: "hnsw" } },
    signal,
  });
  return openSearch(indexFolder(out, seed), world);
}

/** Opens a world whose index is in `out` already: another process has built it. @throws ERR_IO */
export function openBuiltWorld(out: string, { seed }: WorldChoice): Promise<OpenWorld> {
  return openSearch(indexFolder(out, seed), createWorld({ seed }));
}

/** Where the index of a world stands: each seed has a world of its own. */
export const indexFolder = (out: string, seed: number): string => join(out, `index-seed-${seed}`);

async function openSearch(folder: string, world: World): Promise<OpenWorld> {
  const index = await openIndex(folder);
  return {
    world,
    search: withBatching(index, { windowMs: searchWindowMs, maxCached: 0 }),
    [Symbol.dispose]: () => void index.close(),
  };
}
