/** `seekrl search`: asks an index or a retrieval server. */
import { z } from "zod";
import { command } from "../command.ts";
import { openSearch, searchOptions } from "../search-options.ts";

/** The command. */
export const searchCommand = command({
  name: "search",
  summary: "asks an index or a retrieval server for passages",
  options: z.strictObject({
    ...searchOptions,
    query: z.array(z.string().min(1)).min(1).describe("what to look for"),
    topK: z.int().min(1).default(3).describe("passages per query"),
  }),
  run: async ({ query: queries, topK, ...where }, io) => {
    using opened = await openSearch(where);
    const found = await opened.search(queries, { topK, signal: io.signal });
    const results = queries.map((query, i) => ({ query, hits: found[i] ?? [] }));
    for (const { query, hits } of results) {
      io.write(`${query}\n`);
      for (const { score, title, text } of hits) io.write(`  ${score.toFixed(3)}  ${title}: ${text}\n`);
    }
    io.result({ results });
  },
});
