/** `seekrl index info`: what an index folder holds, and whether it is sound. */
import { z } from "zod";
import { bytesText } from "../../../../lib/base/disk/free-space.ts";
import { SeekError } from "../../../../lib/base/errors.ts";
import type { IndexInfo } from "../../../../lib/search/index-folder/info.ts";
import { command } from "../../command.ts";

function describe({ passages, removed, bytes, settings, segments }: IndexInfo): string {
  const { analyser, bm25, dense } = settings;
  const lines = [
    `passages  ${passages}${removed === 0 ? "" : `, and ${removed} removed`}`,
    `size      ${bytesText(bytes)}`,
    `by words  ${bm25 ? `BM25, k1 ${bm25.k1}, b ${bm25.b}, language ${analyser?.language ?? "en, first rules"}` : "no"}`,
    `vectors   ${dense ? `${dense.embedder.kind === "hashed" ? "hashed" : dense.embedder.path}, width ${dense.embedder.dim}, ${dense.dtype}, ${dense.metric}` : "no"}`,
    ...segments.map((each) => {
      const parts = [
        `${each.passages} passages`,
        each.removed > 0 ? `${each.removed} removed` : "",
        each.vectors,
        each.recall === undefined ? "" : `recall ${each.recall.toFixed(3)}`,
      ];
      return `segment ${each.name}: ${parts.filter((part) => part).join(", ")}, ${bytesText(each.bytes)}`;
    }),
  ];
  return `${lines.join("\n")}\n`;
}

/** The command. */
export const indexInfoCommand = command({
  name: "index info",
  ignoresNames: true,
  summary: "says what an index holds and checks it",
  options: z.strictObject({
    index: z.string().describe("index folder"),
    verify: z.boolean().default(false).describe("reads every byte, not only files that were touched"),
  }),
  places: ["index"],
  placesAreFlags: true,
  run: async ({ index, verify }, io) => {
    const { indexInfo } = await import("../../../../lib/search/index-folder/info.ts");
    const info = await indexInfo(index, { verify: verify ? "all" : "touched" });
    io.write(describe(info));
    io.result(info);
    for (const problem of info.problems) io.log(problem);
    if (info.problems.length > 0) throw new SeekError("ERR_FORMAT", `${index}: the index is damaged`);
  },
});
