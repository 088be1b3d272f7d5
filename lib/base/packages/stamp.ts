/** What a package says of its files (scripts/pack/stamp.mjs writes it), held against the files that are there. */
import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { SeekError } from "../errors.ts";

/** `stamp.json` of a package for a platform, or of libtorch. */
export interface Stamp {
  /** For example `@seekrl/linux-x64`. */
  readonly package: string;
  /** SeekRL's; of libtorch's packages their own. */
  readonly version: string;
  /** The Node-API that the addon was built for. */
  readonly napi?: number;
  /** The libtorch that the addon was built for, or that the package holds. */
  readonly libtorch?: string;
  /** The CUDA that its kernels for GPUs were compiled by; undefined where it has none. */
  readonly kernels?: string;
  readonly files: Readonly<Record<string, { readonly bytes: number; readonly sha256: string }>>;
}

/** What mends a package whose files are not as they were packed; without its name, whichever it is. */
export function reinstall(name?: string): string {
  const what = name === undefined ? "node_modules" : `node_modules/${name} (or all of node_modules)`;
  return `remove ${what} and install again; if the same comes back, first npm cache clean --force`;
}

const damaged = (name: string, what: string, cause?: unknown): SeekError =>
  new SeekError("ERR_FORMAT", `${name} is damaged: ${what}. Remedy: ${reinstall(name)}.`, { cause });

/**
 * Reads a package's stamp.
 *
 * @param folder - of the package
 * @param name - of the package
 * @returns as it was packed
 * @throws ERR_FORMAT where it is missing or unreadable
 */
export function readStamp(folder: string, name: string): Stamp {
  try {
    const stamp = JSON.parse(readFileSync(join(folder, "stamp.json"), "utf8")) as Stamp;
    if (typeof stamp.version === "string" && typeof stamp.files === "object") return stamp;
  } catch (cause) {
    throw damaged(name, `stamp.json in ${folder} cannot be read`, cause);
  }
  throw damaged(name, `stamp.json in ${folder} names no version and no files`);
}

/**
 * Holds the sizes of a package's files against its stamp, which takes no time.
 *
 * @param folder - of the package
 * @param stamp - of the package
 * @throws ERR_FORMAT that names a file that is missing or of another size
 */
export function checkSizes(folder: string, stamp: Stamp): void {
  for (const [file, { bytes }] of Object.entries(stamp.files)) {
    const found = statSync(join(folder, file), { throwIfNoEntry: false })?.size;
    if (found === undefined) throw damaged(stamp.package, `${file} is missing in ${folder}`);
    if (found !== bytes)
      throw damaged(stamp.package, `${join(folder, file)}: expected ${bytes} bytes, got ${found}`);
  }
}

/** SHA-256 of a file, in hexadecimal; libtorch's are too large to be read at once. */
function sha256Of(path: string): string {
  const [hash, buffer, file] = [createHash("sha256"), Buffer.alloc(1 << 20), openSync(path, "r")];
  try {
    for (let count = -1; count !== 0; ) {
      count = readSync(file, buffer);
      hash.update(buffer.subarray(0, count));
    }
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}

/**
 * Holds checksums of a package's files against its stamp.
 *
 * @param folder - of the package
 * @param stamp - of the package
 * @param files - all of them, unless named
 * @throws ERR_FORMAT that names a file with both checksums
 */
export function checkSums(
  folder: string,
  stamp: Stamp,
  files: readonly string[] = Object.keys(stamp.files),
): void {
  for (const file of files) {
    const sum = sha256Of(join(folder, file));
    const expected = stamp.files[file]?.sha256;
    if (sum !== expected)
      throw damaged(
        stamp.package,
        `${join(folder, file)}: expected the sha256 ${expected ?? "of its stamp"}, got ${sum}`,
      );
  }
}
