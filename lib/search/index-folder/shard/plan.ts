/** What two indexes must have in common for their words and vectors to compare. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { readBytes } from "../../../base/files/regular-file.ts";
import { embedderSegment, type Manifest, segmentFolder } from "../manifest.ts";
import { segmentFiles } from "../segment.ts";

/** Settings and embedder in a few letters; where an embedder stands, and how vectors are searched, is no matter. */
export async function planOf(folder: string, { settings }: Manifest): Promise<string> {
  const { analyser, bm25, dense } = settings;
  if (dense === undefined) return digestOf({ bm25, analyser });
  const { kind: _, graph: __, embedder, ...form } = dense;
  const name = embedderSegment(settings);
  if (embedder.kind === "encoder") {
    const { path: ___, signature: ____, ...content } = embedder;
    return digestOf({ bm25, form, content, analyser });
  }
  const file = join(folder, segmentFolder({ name: name ?? "" }), segmentFiles.embedder);
  return digestOf({ bm25, form, content: digestOf((await readBytes(file)).toString("base64")), analyser });
}

/** The first 128 bits of SHA-256 over a value's JSON. */
export function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 32);
}
