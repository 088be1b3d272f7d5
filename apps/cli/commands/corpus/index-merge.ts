/** `seekrl index merge`: parts become one index, or an index that has changed often is made compact. */
import { z } from "zod";
import { command } from "../../command.ts";
import { withIndexProgress } from "../../options/index-options.ts";

/** The command. */
export const indexMergeCommand = command({
  name: "index merge",
  ignoresNames: true,
  summary: "joins indexes into one; of one with itself, drops what was removed",
  options: z.strictObject({
    index: z.array(z.string()).min(1).describe("index folder, in the order of the passages"),
    out: z.string().describe("folder to write; one of them, or one without an index"),
  }),
  run: async ({ index, out }, io) => {
    const { mergeIndexes } = await import("../../../../lib/search/index-folder/change/merge.ts");
    const { countLive } = await import("../../../../lib/search/index-folder/manifest.ts");
    const [manifest, seconds] = await withIndexProgress(io, (listener) => mergeIndexes(index, out, listener));
    const passages = countLive(manifest);
    io.write(`${passages} passages in ${out} (${seconds.toFixed(1)} s)\n`);
    io.result({ out, passages, recall: manifest.segments[0]?.recall ?? null, seconds });
  },
});
