/** Several searches as one: the label of a query says which of them is asked. */
import { checkArgument } from "../base/check-options.ts";
import type { Search } from "./search.ts";

/**
 * Sends each query that begins with `[Name]` to the search of that name, without its label; all searches are asked at
 * once. A query with another label or none goes to the first search, as it is.
 *
 * @param searches - by the names of tools
 * @returns one search
 * @example
 * const both = labelledSearch({ Wiki: search, Web: search });
 * assert.equal((await both(["[Web] Rome"], { topK: 1 })).length, 1);
 */
export function labelledSearch(searches: Readonly<Record<string, Search>>): Search {
  checkArgument("labelledSearch: searches", searches, "object");
  const [first] = Object.keys(searches);
  return async (queries, options) => {
    const asked = queries.map((query) => {
      const [label = "", name = ""] = /^\s*\[([^\]]*)\]/.exec(query) ?? [];
      if (!Object.hasOwn(searches, name)) return { name: first ?? "", query };
      return { name, query: query.slice(label.length).trim() };
    });
    const names = [...new Set(asked.map(({ name }) => name))];
    const found = await Promise.all(
      names.map((name) => {
        const own = asked.filter((each) => each.name === name);
        return (
          searches[name]?.(
            own.map(({ query }) => query),
            options,
          ) ?? own.map(() => [])
        );
      }),
    );
    const next = names.map(() => 0);
    return asked.map(({ name }) => {
      const which = names.indexOf(name);
      const index = next[which] ?? 0;
      next[which] = index + 1;
      return found[which]?.[index] ?? [];
    });
  };
}
