/** SHA-256 digests of files. */
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { SeekError } from "../errors.ts";
import { streamOf } from "./regular-file.ts";

/** The digest of a text or of bytes, in hexadecimal. */
export function digestOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/**
 * The digest of a file.
 *
 * @param path - read in pieces
 * @returns SHA-256, in hexadecimal
 * @throws ERR_IO when it cannot be read
 */
export async function digestOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of await streamOf(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  } catch (cause) {
    if (cause instanceof SeekError) throw cause;
    throw new SeekError("ERR_IO", `${path}: cannot be read: ${(cause as Error).message}`, { cause });
  }
  return hash.digest("hex");
}

/**
 * The digests of all files below a folder.
 *
 * @param folder - with whatever folders there are in it
 * @returns digests by path within the folder, in the order of the paths
 * @throws ERR_IO when one cannot be read
 */
export async function digestsBelow(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: Error) => {
    throw new SeekError("ERR_IO", `${folder}: cannot be read: ${cause.message}`, { cause });
  });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const digests: Record<string, string> = {};
  for (const path of paths.sort()) digests[relative(folder, path)] = await digestOfFile(path);
  return digests;
}
