/** Files are written whole or not at all: a temporary file beside the target, flushed, then renamed over it. */
import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { refusedWrite } from "../disk/refused-write.ts";
import { SeekError } from "../errors.ts";

/** What {@link writeFileAtomic} accepts: the whole content, or its parts in order. */
type FileContent = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

const flushBytes = 1 << 20;

async function writeParts(
  file: FileHandle,
  content: Exclude<FileContent, string | Uint8Array>,
): Promise<void> {
  let parts: Uint8Array[] = [];
  let numBytes = 0;
  for await (const part of content) {
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    parts.push(bytes);
    numBytes += bytes.byteLength;
    if (numBytes < flushBytes) continue;
    await file.writeFile(Buffer.concat(parts));
    parts = [];
    numBytes = 0;
  }
  await file.writeFile(Buffer.concat(parts));
}

/** Flushes the folder entry itself, so that a rename survives a power cut. Not every file system allows it. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

/**
 * Makes a folder, and those above it, where they are missing.
 *
 * @throws ERR_IO when the file system refuses
 */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((cause: unknown) => {
    throw refusedWrite(folder, cause, "made");
  });
}

/**
 * Looks whether a file can be written, before work whose outcome it shall hold; missing folders are made.
 *
 * @param path where the file shall stand
 * @throws ERR_IO for the place of a folder, or where no folder can be
 */
export async function checkFilePlace(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true }).catch((cause) => {
    throw refusedWrite(path, cause);
  });
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isDirectory()) throw new SeekError("ERR_IO", `${path}: expected a file to write, got a folder`);
}

/**
 * Writes `path` so that a reader sees the old content or the new one, never a part; missing folders are made.
 *
 * @param path where the file shall stand
 * @param content text (UTF-8), bytes, or a (possibly asynchronous) sequence of either
 * @throws ERR_IO when the file system refuses; the temporary file is then gone and `path` untouched
 * @example
 * await writeFileAtomic("runs/a/summary.json", JSON.stringify({ em: 0.5 }));
 */
export async function writeFileAtomic(path: string, content: FileContent): Promise<void> {
  await checkFilePlace(path);
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString("hex")}.tmp`;
  try {
    const file = await open(temporary, "wx");
    try {
      if (typeof content === "string" || content instanceof Uint8Array) await file.writeFile(content);
      else await writeParts(file, content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(dirname(path));
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    if (cause instanceof SeekError || (cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw refusedWrite(path, cause);
  }
}

/** As `writeFileAtomic` and the native core name what they have not finished. */
const temporaryPattern = /\.\d+-[0-9a-f]+\.tmp$/;

/**
 * Removes temporary files that processes left when they were killed. Only for who holds the lock on what they are of.
 *
 * @param path - a folder, or one file: then what would have become it
 */
export async function removeTemporaries(path: string): Promise<void> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  const [folder, begin] = isFolder ? [path, ""] : [dirname(path), `${basename(path)}.`];
  for (const name of await readdir(folder).catch(() => [] as string[])) {
    const isTemporary = temporaryPattern.test(name) && name.replace(temporaryPattern, ".").startsWith(begin);
    if (isTemporary) await rm(join(folder, name), { force: true });
  }
}
