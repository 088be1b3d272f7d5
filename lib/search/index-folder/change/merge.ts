/** One index out of several, or out of the many segments of one. */

import { resolve } from "node:path";
import { checkArgument, checkOptions } from "../../../base/check-options.ts";
import { SeekError } from "../../../base/errors.ts";
import { changeFolder } from "../change.ts";
import type { Manifest } from "../manifest.ts";
import { needManifest } from "../open.ts";
import { planOf } from "../shard/plan.ts";
import { checkUniqueIds } from "../unique-ids.ts";
import { type CopyOptions, everyRow, openSource, type Source, writeCopy } from "./copy.ts";

async function checkAlike(sources: readonly Source[]): Promise<void> {
  const [first, ...others] = sources;
  if (first === undefined)
    throw new SeekError("ERR_ARGUMENT", "indexes: expected at least one to merge, got none");
  const plan = await planOf(first.folder, first.manifest);
  for (const other of others) {
    if ((await planOf(other.folder, other.manifest)) === plan) continue;
    throw new SeekError(
      "ERR_ARGUMENT",
      `${other.folder}: expected the settings and the embedder of ${first.folder}; parts of one corpus are built with part`,
    );
  }
}

/**
 * Joins indexes into one with a single segment: passages in the order of the folders, removed ones left out, vectors
 * copied as they are stored. Parts that were built on several machines become one index so, and an index with many
 * segments or removed passages becomes small and quick again when `out` is its own folder.
 *
 * @param folders indexes with the same settings and the same embedder
 * @param out the folder to write: one of `folders`, or one without an index
 * @param options progress and signal
 * @returns the manifest
 * @throws ERR_ARGUMENT for indexes that do not go together, ids that two of them share, or an `out` that holds another
 * index; ERR_IO, ERR_FORMAT, ERR_STATE, ERR_ABORTED
 * @example
 * await mergeIndexes(["index"], "index"); // one segment, without what was removed
 */
export async function mergeIndexes(
  folders: readonly string[],
  out: string,
  options: CopyOptions = {},
): Promise<Manifest> {
  checkArgument("mergeIndexes: folders", folders, "list");
  checkArgument("mergeIndexes: out", out, "string");
  checkOptions("mergeIndexes", options, { onProgress: "function", signal: "signal" });
  const isOwn = folders.some((folder) => resolve(folder) === resolve(out));
  for (const folder of folders) await needManifest(folder);
  const merged = await changeFolder(out, async (change) => {
    if (change.current && !isOwn)
      throw new SeekError("ERR_ARGUMENT", `${out}: holds an index that is not among those to be merged`);
    const sources: Source[] = [];
    try {
      for (const folder of folders) sources.push(await openSource(folder));
      await checkAlike(sources);
      await checkUniqueIds(sources.flatMap(({ segments }) => segments));
      const [first] = sources as [Source];
      const rows = everyRow(sources.flatMap(({ segments }) => segments));
      return await writeCopy(first, rows, change, options);
    } finally {
      for (const source of sources) source.close();
    }
  });
  return merged as Manifest;
}
