/** A corpus on disk. */
import { writeFile } from "node:fs/promises";
import type { Passage } from "../../../lib/search/corpus/passage.ts";

/** Writes passages as JSON Lines and gives the path back. */
export async function jsonLinesFile(path: string, passages: readonly Passage[]): Promise<string> {
  await writeFile(path, passages.map((passage) => `${JSON.stringify(passage)}\n`).join(""));
  return path;
}
