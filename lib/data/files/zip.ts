/** Files inside of zip archives: named as if the archive were a folder, unpacked into one when they are read. */
import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { crc32 } from "node:zlib";
import { type Entry, openPromise, type ZipFile } from "yauzl";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import { writeFileAtomic } from "../../base/files/files.ts";
import { checkRegular } from "../../base/files/regular-file.ts";

/** An archive, and the file in it that is meant. */
interface ArchivePath {
  readonly archive: string;
  /** Its path inside, or the end of it; undefined for the only file. */
  readonly member?: string;
}

/**
 * Reads `data.zip/questions.jsonl` as a file of an archive, and `data.zip` as its only file.
 *
 * @param path - a path or an address, whose fragment stays with the archive
 * @returns undefined when no archive is named; `.zip` in the name of a folder is none
 * @example
 * assert.deepEqual(archivePath("sets/data.zip/dev.jsonl"), { archive: "sets/data.zip", member: "dev.jsonl" });
 */
export function archivePath(path: string): ArchivePath | undefined {
  const [place = "", fragment] = path.split("#");
  const ends = [...place.matchAll(/\.zip(?=\/|$)/gi)].map(({ index }) => index + 4);
  const end = ends.find((at) => !isFolder(place.slice(0, at)));
  if (end === undefined) return undefined;
  const archive = place.slice(0, end) + (fragment === undefined ? "" : `#${fragment}`);
  const member = place.slice(end + 1);
  return member === "" ? { archive } : { archive, member };
}

const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/** How a file is unpacked. */
interface UnpackOptions {
  /** Where unpacked files are kept; what stands there from before is not unpacked again. */
  readonly folder: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Unpacks one file of an archive, whole and checked against its CRC, or not at all.
 *
 * @param path - the archive and the file
 * @param options - where to
 * @returns the path of the unpacked file
 * @throws ERR_IO; ERR_FORMAT for a damaged archive; ERR_ARGUMENT naming the files there are when none, or more than
 *   one, is meant; ERR_ABORTED
 */
export async function unpack(
  { archive, member }: ArchivePath,
  { folder, signal }: UnpackOptions,
): Promise<string> {
  try {
    await checkRegular(archive);
    const { size, mtimeMs } = await stat(archive);
    const key = createHash("sha256")
      .update(`${resolve(archive)}\n${size}\n${mtimeMs}`)
      .digest("hex");
    // Looking for the file and reading it are two passes over the directory; the first one must not close.
    const zip = await openPromise(archive, { autoClose: false });
    try {
      const entry = chosen(await dataEntries(zip), archive, member);
      const target = join(folder, key.slice(0, 16), entry.fileName);
      if (!existsSync(target)) await writeFileAtomic(target, checked(zip, entry, { archive, signal }));
      return target;
    } finally {
      zip.close();
    }
  } catch (cause) {
    if (cause instanceof SeekError) throw cause;
    const { syscall, message } = cause as NodeJS.ErrnoException;
    const code = syscall === undefined ? "ERR_FORMAT" : "ERR_IO";
    throw new SeekError(code, `${archive}: cannot be read as a zip archive: ${message}`, { cause });
  }
}

/** What is no folder and none of the notes that macOS adds. */
async function dataEntries(zip: ZipFile): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) {
    const isNote = /(^|\/)(__MACOSX\/|\._|\.DS_Store)/.test(entry.fileName);
    if (!entry.fileName.endsWith("/") && !isNote) entries.push(entry);
  }
  return entries;
}

function chosen(entries: readonly Entry[], archive: string, member: string | undefined): Entry {
  const named = (entry: Entry): boolean =>
    member === undefined || entry.fileName === member || entry.fileName.endsWith(`/${member}`);
  const exact = entries.find(({ fileName }) => fileName === member);
  const matching = exact === undefined ? entries.filter(named) : [exact];
  const [only] = matching;
  if (only !== undefined && matching.length === 1) return only;
  const names = (only === undefined ? entries : matching).map(({ fileName }) => fileName);
  const shown = names.length > 24 ? `${names.slice(0, 24).join(", ")}, ...` : names.join(", ");
  const expected = `${archive}/NAME for one of ${shown || "its files, of which it has none"}`;
  throw new SeekError("ERR_ARGUMENT", `expected ${expected}, got ${member ?? "no name"}`);
}

async function* checked(
  zip: ZipFile,
  entry: Entry,
  { archive, signal }: { readonly archive: string; readonly signal: AbortSignal | undefined },
): AsyncGenerator<Uint8Array> {
  let sum = 0;
  for await (const chunk of await zip.openReadStreamPromise(entry)) {
    throwIfAborted(signal, archive);
    sum = crc32(chunk as Buffer, sum);
    yield chunk as Buffer;
  }
  if (sum !== entry.crc32) {
    throw new SeekError(
      "ERR_FORMAT",
      `${archive}/${entry.fileName}: the content does not have the CRC that stands there`,
    );
  }
}
