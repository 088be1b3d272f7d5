/** Opens files to be read: regular ones alone, as a FIFO, a device or a socket in the place of one would hold its reader for ever. */
import { closeSync, constants, openSync, type ReadStream, readFileSync, type Stats, statSync } from "node:fs";
import { copyFile, type FileHandle, lstat, open, readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { SeekError } from "../errors.ts";

/** Should something else come between the look and the opening, neither it nor a read of it waits. */
const readOnly = constants.O_RDONLY | constants.O_NONBLOCK;

/** Where a file may stand. */
interface PlaceOptions {
  /** The folder that no link may lead out of: what is read is shown to others. @default links lead anywhere, as in the hub's cache */
  readonly within?: string | undefined;
}

function kindOf(found: Stats): string {
  if (found.isDirectory()) return "a folder";
  if (found.isFIFO()) return "a FIFO";
  if (found.isSocket()) return "a socket";
  return "a device";
}

function requireRegular(path: string, found: Stats): void {
  if (found.isFile()) return;
  throw new SeekError("ERR_IO", `${path}: expected a file, got ${kindOf(found)}`);
}

async function requireWithin(path: string, folder: string): Promise<void> {
  const [target, top] = await Promise.all([realpath(path), realpath(folder)]);
  if (target.startsWith(top + sep)) return;
  throw new SeekError("ERR_IO", `${path}: expected a file of ${folder}, got a link out of it, to ${target}`);
}

/**
 * Whether something in a folder is a link that leads out of another one, or the folder itself is.
 *
 * @param folder - whose own files are looked at; one that is not there has none
 * @param top - that links may stay within
 */
export async function hasLinkOut(folder: string, top: string): Promise<boolean> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name));
    for (const path of [folder, ...links]) await requireWithin(path, top);
    return false;
  } catch (error) {
    return !isMissing(error);
  }
}

/**
 * Looks at all links below a folder whose files are shown to others.
 *
 * @throws ERR_IO naming one that leads out of it
 */
export async function requireNoLinkOut(folder: string): Promise<void> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const links = entries.filter((entry) => entry.isSymbolicLink());
    for (const { parentPath, name } of links) await requireWithin(join(parentPath, name), folder);
  } catch (cause) {
    throw readError(folder, cause);
  }
}

function readError(path: string, cause: unknown): unknown {
  if (cause instanceof SeekError) return cause;
  return new SeekError("ERR_IO", `${path}: cannot be read: ${(cause as Error).message}`, { cause });
}

/** Whether an error of these functions says that nothing is there. */
export function isMissing(error: unknown): boolean {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } };
  return [code, cause?.code].some((each) => each === "ENOENT" || each === "ENOTDIR");
}

/**
 * Looks whether a file can be opened by who takes a path alone.
 *
 * @param path - of a regular file, or of a link to one
 * @param options - where it may stand
 * @throws ERR_IO that says what stands there instead
 */
export async function checkRegular(path: string, { within }: PlaceOptions = {}): Promise<void> {
  try {
    requireRegular(path, await stat(path));
    if (within !== undefined) await requireWithin(path, within);
  } catch (cause) {
    throw readError(path, cause);
  }
}

/**
 * Opens a file to be read.
 *
 * @returns the file, to be closed
 * @throws as {@link checkRegular}
 */
export async function openRegular(path: string, options?: PlaceOptions): Promise<FileHandle> {
  await checkRegular(path, options);
  return open(path, readOnly).catch((cause: unknown) => {
    throw readError(path, cause);
  });
}

/**
 * Opens a file of ours to be written: what it would be a link to, such as a file of this user's elsewhere, is left alone.
 *
 * @param path - of a regular file, or of none yet
 * @param flags - of `open(2)`
 * @returns the file, to be closed
 * @throws ERR_IO for what is no regular file itself; what the file system throws
 */
export async function openOwn(path: string, flags: number): Promise<FileHandle> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink()) throw new SeekError("ERR_IO", `${path}: expected a file, got a link`);
  if (found !== undefined) requireRegular(path, found);
  return open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

/** As {@link openRegular}; undefined where nothing is there. @throws ERR_IO */
export function findRegular(path: string, options?: PlaceOptions): Promise<FileHandle | undefined> {
  return openRegular(path, options).catch(orMissing);
}

/** The bytes of a whole file. @throws ERR_IO */
export async function readBytes(path: string, options?: PlaceOptions): Promise<Buffer> {
  const file = await openRegular(path, options);
  try {
    return await file.readFile();
  } catch (cause) {
    throw readError(path, cause);
  } finally {
    await file.close();
  }
}

/** A whole file as text (UTF-8). @throws ERR_IO */
export async function readText(path: string, options?: PlaceOptions): Promise<string> {
  return (await readBytes(path, options)).toString("utf8");
}

/** As {@link readText}; undefined where nothing is there. @throws ERR_IO */
export function findText(path: string, options?: PlaceOptions): Promise<string | undefined> {
  return readText(path, options).catch(orMissing);
}

/** As {@link readText}, for who cannot wait. @throws ERR_IO */
export function readTextSync(path: string): string {
  try {
    requireRegular(path, statSync(path));
    const file = openSync(path, readOnly);
    try {
      return readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    throw readError(path, cause);
  }
}

/** Copies a file. @throws ERR_IO for what is none; what the file system throws */
export async function copyRegular(from: string, to: string): Promise<void> {
  await checkRegular(from);
  await copyFile(from, to);
}

/** A file in pieces, which is closed at its end or when it is destroyed. @throws ERR_IO */
export async function streamOf(
  path: string,
  options: { readonly start?: number; readonly end?: number; readonly highWaterMark: number },
): Promise<ReadStream> {
  return (await openRegular(path)).createReadStream(options);
}

function orMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
