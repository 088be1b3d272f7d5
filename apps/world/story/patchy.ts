/** A search engine with gaps: some passages are found by one wording of a query only. */
import type { Search } from "../../../lib/search/search.ts";
import type { TitledText } from "../../../lib/text/observation.ts";

/** Of all names: the share that only formal queries find, and as many that only plain ones do. */
const kGapShare = 0.25;

/** FNV-1a with a final mix: neighbouring names fall apart. */
function hash(text: string): number {
  let value = 2_166_136_261;
  for (const character of text) value = Math.imul(value ^ character.codePointAt(0)!, 16_777_619);
  value = Math.imul(value ^ (value >>> 15), 2_246_822_507);
  return (value ^ (value >>> 13)) >>> 0;
}

/**
 * Whether the engine understands a query: it does not when the name in it is one that only the other wording finds.
 * Formal queries have the word `which` or `the`. A query without a name is always understood.
 *
 * @example
 * const wordings = ["who directed Jade", "who was the director of Jade"];
 * assert.ok(wordings.some(isUnderstood), "at least one of the two");
 */
export function isUnderstood(query: string): boolean {
  const name = /[A-Z]\w*/.exec(query)?.[0];
  if (name === undefined) return true;
  const place = hash(name) / 2 ** 32;
  const isFormal = /\b(?:which|the)\b/.test(query);
  return isFormal ? place < 1 - kGapShare : place >= kGapShare;
}

/**
 * A search that finds nothing for a query it does not understand; asking the same again is no help, other words are.
 *
 * @param search - over all passages of a world
 * @returns no hits for a query that is not understood, else those of `search`
 */
export function patchySearch(search: Search): Search {
  return async (queries, options) => {
    const found = await search(queries, options);
    return found.map((hits, i) => (isUnderstood(queries[i]!) ? hits : []));
  };
}

/** Stands where a query has found nothing. */
export const kNothingFound = "Nothing found";

/**
 * What an agent reads of a search with gaps: where a query has found nothing a document says so and names the query.
 * Among parallel queries an empty place alone does not show a small model which of them it belongs to.
 *
 * @param queries - as asked
 * @param documents - found, a list for each query
 * @example
 * assert.deepEqual(nameGaps(["who directed Jade"], [[]]), [[{ title: "Nothing found", text: "who directed Jade" }]]);
 */
export function nameGaps(
  queries: readonly string[],
  documents: readonly (readonly TitledText[])[],
): readonly (readonly TitledText[])[] {
  return queries.map((query, i) => {
    const found = documents[i] ?? [];
    return found.length > 0 ? found : [{ title: kNothingFound, text: query }];
  });
}
