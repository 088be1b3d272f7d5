/** Checksums of files of any size. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** SHA-256 of a file, in hexadecimal. */
export async function sha256Of(path) {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** SHA-256 over the C++ sources of a checkout, as lib/base/packages/sources.ts computes it when the addon is loaded. */
export async function sourcesDigest(root) {
  const names = await readdir(join(root, "native"), { recursive: true });
  const sources = names.filter((name) => /\.(cpp|h|c|cu|cuh|cmake)$/.test(name));
  const hash = createHash("sha256");
  for (const name of ["CMakeLists.txt", ...sources.map((each) => join("native", each))].sort())
    hash.update(`${name}\0`).update(await readFile(join(root, name)));
  return hash.digest("hex");
}
