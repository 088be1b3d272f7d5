/** The world's encyclopedia in two volumes: nothing about a name says in which of them its passage stands. */
import { askSearch, type Hit, type Search } from "../../../lib/search/search.ts";

/** The volumes' names. */
export const volumes = ["A", "B"] as const;

/** One half of the passages. */
export type Volume = (typeof volumes)[number];

/** Passages with even numbers stand in volume A, the others in B; a world numbers its passages in a random order. */
export function volumeOf(id: string): Volume {
  return Number(id) % 2 === 0 ? "A" : "B";
}

/** The volume that is not this one. */
export function otherVolume(volume: Volume): Volume {
  return volume === "A" ? "B" : "A";
}

/** Whether a volume has a passage, and the query names it: a volume is looked into by names, and has nothing else to say. */
export function standsIn(
  { id, title }: Pick<Hit, "id" | "title">,
  { volume, query }: { readonly volume: Volume; readonly query: string },
): boolean {
  return volumeOf(id) === volume && query.split(/\W+/).includes(title);
}

/** How many times more hits are asked for than wanted, so that enough of them stand in the one volume. */
const kDeeper = 8;

/**
 * A search over all passages of a world as one that looks into the volume which a query names: `[A] who directed Jade`.
 * Without a name it looks into volume A.
 *
 * @param search - over all passages
 * @returns of that volume the passages about what the query names
 */
export function withVolumes(search: Search): Search {
  return async (queries, { topK, ...options }) => {
    const asked = queries.map((query) => {
      const [label = "", name] = /^\s*\[([AB])\]/.exec(query) ?? [];
      return {
        volume: name === "B" ? ("B" as const) : ("A" as const),
        query: query.slice(label.length).trim(),
      };
    });
    const found = await askSearch(
      search,
      asked.map(({ query }) => query),
      { ...options, topK: topK * kDeeper },
    );
    return found.map((hits, i): Hit[] => hits.filter((hit) => standsIn(hit, asked[i]!)).slice(0, topK));
  };
}
