/** `seekrl index split`: an index becomes parts for several machines. */
import { z } from "zod";
import { command } from "../../command.ts";
import { withIndexProgress } from "../../options/index-options.ts";

/** The command. */
export const indexSplitCommand = command({
  name: "index split",
  ignoresNames: true,
  summary: "splits an index into parts, to be served by several machines and searched as one with --shards",
  options: z.strictObject({
    index: z.string().describe("index folder; it stays as it is"),
    out: z.string().describe("folder for the folders of the parts: 1, 2, 3 ..."),
    shards: z.int().min(1).describe("how many parts"),
  }),
  run: async ({ index, out, shards }, io) => {
    const { splitIndex } = await import("../../../../lib/search/index-folder/change/split.ts");
    const [folders, seconds] = await withIndexProgress(io, (listener) =>
      splitIndex(index, out, { ...listener, shards }),
    );
    io.write(`${folders.length} parts in ${out} (${seconds.toFixed(1)} s)\n`);
    io.result({ out, folders, seconds });
  },
});
