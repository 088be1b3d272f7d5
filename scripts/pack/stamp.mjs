/** What a package says of its files, so that each is found whole or refused: sizes, checksums, what they were built for. */
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256Of } from "../setup/digest.mjs";

/** Writes `stamp.json` (lib/base/packages/stamp.ts reads it) over files of a folder. */
export async function writeStamp(folder, names, about) {
  const files = {};
  for (const name of names) {
    const path = join(folder, name);
    files[name] = { bytes: (await stat(path)).size, sha256: await sha256Of(path) };
  }
  await writeFile(join(folder, "stamp.json"), `${JSON.stringify({ ...about, files }, null, 2)}\n`);
}
