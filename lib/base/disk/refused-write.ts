/** Why the file system takes no file, in words that say what to do: it is full, read-only, or another user's. */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { SeekError } from "../errors.ts";
import { cacheFolder, hubCacheFolder } from "./cache-folder.ts";

/** Bytes as text, for example `3.5 GiB`. */
export const binaryBytes = (numBytes: number): string =>
  numBytes < 2 ** 30 ? `${(numBytes / 2 ** 20).toFixed(1)} MiB` : `${(numBytes / 2 ** 30).toFixed(1)} GiB`;

/** The folder itself, or the nearest above it that there is. */
function nearestFolder(path: string): string {
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  return isFolder || dirname(path) === path ? path : nearestFolder(dirname(path));
}

/** What moves a folder elsewhere: a variable where the user named none. Temporary folders of ours begin with the name. */
function otherPlace(path: string): string {
  const places = [
    ["SEEKRL_CACHE", resolve(cacheFolder(""))],
    ["HF_HUB_CACHE", resolve(hubCacheFolder())],
    ["TMPDIR", join(tmpdir(), "seekrl-")],
  ] as const;
  const variable = places.find(([, folder]) => path.startsWith(folder))?.[0];
  return variable === undefined
    ? "name a folder on another file system"
    : `set ${variable} to a folder on another file system`;
}

/** Of Node, and of the native core, which tells the system's words alone. */
const kinds = {
  full: /ENOSPC|EDQUOT|No space left|quota exceeded/i,
  readOnly: /EROFS|Read-only file system/i,
  closed: /EACCES|EPERM|Permission denied|not permitted/i,
} as const;

/** The system's own words, unless it says ENOENT of a folder that cannot be made, as Node does where all is read-only. */
function wordsOf(said: string, folder: string): string {
  if (!said.startsWith("ENOENT")) return said;
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    return (error as Error).message;
  }
  return said;
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** What it means, with the remedy; undefined where the system's words are all there is to say. */
function meaningOf(path: string, said: string): string | undefined {
  const folder = nearestFolder(resolve(path));
  const words = wordsOf(said, folder);
  const other = otherPlace(resolve(path));
  if (kinds.full.test(words))
    return `no space left for it on the file system of ${folder} (${binaryBytes(freeBytesOf(folder))} free). Remedy: make room, or ${other}`;
  if (kinds.readOnly.test(words)) return `${folder} is on a read-only file system. Remedy: ${other}`;
  if (kinds.closed.test(words))
    return `this user may not write to ${folder}. Remedy: have its owner allow it, or ${other}`;
  return undefined;
}

/**
 * The error of a file or folder that cannot be written.
 *
 * @param path - that was to be written
 * @param cause - what the file system said
 * @param what - was not done, `@default` "written"
 * @returns ERR_IO that names the path, the reason and, where there is one, the remedy
 */
export function refusedWrite(path: string, cause: unknown, what = "written"): SeekError {
  const said = (cause as Error).message;
  return new SeekError("ERR_IO", `${path}: cannot be ${what}: ${meaningOf(path, said) ?? said}`, { cause });
}

/**
 * The same for an error that may be of anything, such as one that a library threw.
 *
 * @param error - whatever was caught
 * @param folder - that was written to, where the error itself names no file: one of writing does not
 * @returns undefined unless the file system was full, read-only or closed to this user
 */
export function writeRefusal(error: unknown, folder: string): SeekError | undefined {
  const { syscall, path = folder, message } = Object(error) as NodeJS.ErrnoException;
  if (syscall === undefined || meaningOf(path, message) === undefined) return undefined;
  return refusedWrite(path, error);
}

/**
 * The native core's words of a file that cannot be written, with meaning and remedy.
 *
 * @param message - for example `runs/a/lock: cannot be written: No space left on device`
 * @returns the message where it is about anything else
 */
export function explainedWrite(message: string): string {
  const [, path, what, said] = /^(.+?): cannot be (\w+): ([^:]+)$/s.exec(message) ?? [];
  const meaning = path === undefined || said === undefined ? undefined : meaningOf(path, said);
  return meaning === undefined ? message : `${path}: cannot be ${what}: ${meaning}`;
}

/** The disk of a folder, which need not be there. */
export interface Disk {
  readonly freeBytes: number;
  /** Why nothing can be written to it, with the remedy. */
  readonly problem: string | undefined;
}

/** Less than this is used up by the first file. */
const leastBytes = 1 << 20;

/** Looks at the disk of a folder, and writes nothing. */
export function diskOf(folder: string): Disk {
  const nearest = nearestFolder(resolve(folder));
  const freeBytes = freeBytesOf(nearest);
  try {
    accessSync(nearest, constants.W_OK);
  } catch (error) {
    const { message } = error as Error;
    return { freeBytes, problem: meaningOf(folder, message) ?? message };
  }
  return { freeBytes, problem: freeBytes < leastBytes ? meaningOf(folder, "ENOSPC") : undefined };
}
