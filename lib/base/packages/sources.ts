/** Whether what a clone built is of the C++ sources that stand in it. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Files that are compiled, and what says how; an editor's own files are none. */
const isSource = (name: string): boolean => /\.(cpp|h|c|cu|cuh|cmake)$/.test(name);

/** The files and folders of a clone's sources, by their places in it. */
function namesIn(root: string): string[] {
  const names = readdirSync(join(root, "native"), { recursive: true }) as string[];
  return ["CMakeLists.txt", "native", ...names.map((name) => join("native", name))];
}

/**
 * SHA-256 over all sources, in hexadecimal; a build keeps it (scripts/setup/digest.mjs computes the same before there is JavaScript).
 *
 * @param root - of the clone
 */
export function sourcesDigest(root: string): string {
  const hash = createHash("sha256");
  const sources = namesIn(root).filter((name) => isSource(name) || name === "CMakeLists.txt");
  for (const name of sources.sort()) hash.update(`${name}\0`).update(readFileSync(join(root, name)));
  return hash.digest("hex");
}

/**
 * Whether a build is older than the sources: something among them was written later, which also a file that is gone leaves on
 * its folder, and all together are others than those it was built of.
 *
 * @param root - of the clone
 * @param mark - a file that is as old as the beginning of the build
 * @param digest - of the sources that it was built of
 */
export function isStale(root: string, mark: string, digest: string | undefined): boolean {
  if (digest === undefined || !existsSync(join(root, "native"))) return false;
  const { mtimeMs } = statSync(mark);
  const isLater = namesIn(root).some((name) => statSync(join(root, name)).mtimeMs > mtimeMs);
  return isLater && sourcesDigest(root) !== digest;
}
