/** `seekrl search`: asks an index. */
import { z } from "zod";
import { command } from "./command.ts";

/** The command. */
export const searchCommand = command({
  name: "search",
  summary: "asks an index for passages",
  options: z.strictObject({
    index: z.string().describe("index folder"),
    query: z.array(z.string().min(1)).min(1).describe("what to look for"),
    topK: z.int().min(1).default(3).describe("passages per query"),
  }),
  run: async ({ index, query: queries, topK }, io) => {
    const { openIndex } = await import("../search/open-index.ts");
    const search = await openIndex(index);
    try {
      const found = await search(queries, { topK, signal: io.signal });
      const results = queries.map((query, i) => ({ query, hits: found[i] ?? [] }));
      for (const { query, hits } of results) {
        io.write(`${query}\n`);
        for (const { score, title, text } of hits) io.write(`  ${score.toFixed(3)}  ${title}: ${text}\n`);
      }
      io.result({ results });
    } finally {
      search.close();
    }
  },
});
