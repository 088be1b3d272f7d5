/** `seekrl index add` and `seekrl index remove`: an index folder changes while searches go on. */
import { z } from "zod";
import { readText } from "../../../../lib/base/files/regular-file.ts";
import { command, UsageError } from "../../command.ts";
import { deviceName, modelFolder } from "../../fields.ts";
import { splitOf, splitOptions, withIndexProgress } from "../../options/index-options.ts";

/** The command that adds. */
export const indexAddCommand = command({
  name: "index add",
  summary: "adds passages to an index",
  options: z.strictObject({
    index: z.string().describe("index folder"),
    corpus: z.string().describe("file or folder of passages, whose ids the index does not have"),
    ...splitOptions,
    encoder: modelFolder(z.string().optional().describe("encoder's folder, if it is not where it was")),
    device: deviceName.default("cpu").describe("what an encoder runs on: cpu or cuda"),
  }),
  run: async ({ index, corpus, encoder, device, ...given }, io) => {
    const { addToIndex } = await import("../../../../lib/search/index-folder/change/edit.ts");
    const { countLive } = await import("../../../../lib/search/index-folder/manifest.ts");
    const [manifest, seconds] = await withIndexProgress(io, (listener) =>
      addToIndex(index, corpus, { ...listener, ...splitOf(given), device, encoder }),
    );
    const passages = countLive(manifest);
    io.write(`${passages} passages in ${index}, in ${manifest.segments.length} segments\n`);
    io.result({ index, passages, segments: manifest.segments.length, seconds });
  },
});

async function readIds(path: string): Promise<string[]> {
  const text = await readText(path);
  return text.split(/\r?\n/).filter((line) => line !== "");
}

/** The command that removes. */
export const indexRemoveCommand = command({
  name: "index remove",
  ignoresNames: true,
  summary: "removes passages from an index",
  options: z.strictObject({
    index: z.string().describe("index folder"),
    id: z.array(z.string()).default([]).describe("id of a passage"),
    ids: z.string().optional().describe("file with an id on each line"),
  }),
  run: async ({ index, id, ids }, io) => {
    if (id.length === 0 && ids === undefined) throw new UsageError("expected --id or --ids, got neither");
    const { removeFromIndex } = await import("../../../../lib/search/index-folder/change/edit.ts");
    const all = [...id, ...(ids === undefined ? [] : await readIds(ids))];
    const { removed, missing } = await removeFromIndex(index, all, { signal: io.signal });
    for (const each of missing) io.log(`${each}: not in ${index}`);
    io.write(`${removed} passages removed\n`);
    io.result({ index, removed, missing });
  },
});
