/** Hits that say the same are one: of passages with equal texts only the best is found. */
import type { Hit, Search } from "./search.ts";

/** The deepest that a search looks for further texts, on the way to its `topK`. */
const maxDepth = 16_384;

/** Texts are equal as in a corpus report: blanks and the case of A to Z aside; a blank text is equal to none. */
function keyOf({ id, text }: Hit): string {
  const words = text.split(/[\t-\r ]+/).filter((word) => word !== "");
  if (words.length === 0) return `id ${id}`;
  return `text ${words.join(" ").replace(/[A-Z]+/g, (letters) => letters.toLowerCase())}`;
}

function firstOfEach(hits: readonly Hit[]): Hit[] {
  const first = new Map<string, Hit>();
  for (const hit of hits) if (!first.has(keyOf(hit))) first.set(keyOf(hit), hit);
  return [...first.values()];
}

/**
 * A search whose hits have different texts. Where repeats leave fewer than were asked for, it looks four times as deep.
 *
 * @param search - any
 * @param options - `depth`: the deepest that it may be asked for, `@default 16384`
 * @returns the search, which gives fewer hits where so many are repeats
 */
export function distinctSearch(
  search: Search,
  { depth: deepest = maxDepth }: { readonly depth?: number } = {},
): Search {
  return async (queries, { topK, signal }) => {
    const kept: Hit[][] = queries.map(() => []);
    let open = [...queries.keys()];
    for (let depth = topK; open.length > 0; depth = Math.min(4 * depth, Math.max(topK, deepest))) {
      const asked = open.map((query) => queries[query] ?? "");
      const found = await search(asked, { topK: depth, signal });
      open = open.filter((query, i) => {
        const hits = found[i] ?? [];
        kept[query] = firstOfEach(hits).slice(0, topK);
        return kept[query].length < topK && hits.length >= depth && depth < deepest;
      });
    }
    return kept;
  };
}
