/** Libraries of Linux that ask for something else than they were linked with. */
import { readFile, writeFile } from "node:fs/promises";

/** As the linker hashes the name of a version. */
function elfHash(name: string): number {
  let hash = 0;
  for (const byte of Buffer.from(name)) {
    hash = ((hash << 4) + byte) >>> 0;
    const high = hash & 0xf0000000;
    if (high !== 0) hash ^= high >>> 24;
    hash = (hash & ~high) >>> 0;
  }
  return hash;
}

/**
 * Has a library ask for something else than it was linked with.
 *
 * @param path - of the library
 * @param from - what it asks for: a version of glibc, or a library
 * @param to - what it asks for then, no longer than that
 */
export async function askFor(path: string, from: string, to: string): Promise<void> {
  const bytes = await readFile(path);
  bytes.write(to, bytes.indexOf(`${from}\0`), "latin1");
  const sought = Buffer.alloc(4);
  sought.writeUInt32LE(elfHash(from));
  for (let at = bytes.indexOf(sought); at !== -1; at = bytes.indexOf(sought, at + 1))
    bytes.writeUInt32LE(elfHash(to), at);
  await writeFile(path, bytes);
}
