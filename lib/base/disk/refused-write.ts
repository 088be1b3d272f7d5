/** Why the file system takes no file, in words that say what to do: it is full, read-only, or another user's. */
import { accessSync, constants } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { SeekError } from "../errors.ts";
import { cacheFolder, hubCacheFolder } from "./cache-folder.ts";
import { bytesText, freeBytesOf, nearestFolder } from "./free-space.ts";

/** What moves a folder elsewhere: a variable where the user named none. Temporary folders of ours begin with the name. */
function otherPlace(path: string): string {
  const places = [
    ["SEEKRL_CACHE", resolve(cacheFolder(""))],
    ["HF_HUB_CACHE", resolve(hubCacheFolder())],
    ["TMPDIR", join(tmpdir(), "seekrl-")],
  ] as const;
  const variable = places.find(([, folder]) => resolve(path).startsWith(folder))?.[0];
  return variable === undefined
    ? "name a folder on another file system"
    : `set ${variable} to a folder on another file system`;
}

const roomRemedy = (path: string): string => `Remedy: make room, or ${otherPlace(path)}`;

/** Of Node, and of the native core, which tells the system's words alone. */
const reasons = {
  full: /ENOSPC|EDQUOT|No space left|quota exceeded/i,
  readOnly: /EROFS|Read-only file system/i,
  closed: /EACCES|EPERM|Permission denied|not permitted/i,
} as const;

function reasonIn(words: string): keyof typeof reasons | undefined {
  return (["full", "readOnly", "closed"] as const).find((reason) => reasons[reason].test(words));
}

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

/**
 * What it means that something cannot be written.
 *
 * @param path - that was to be written
 * @param said - the system's words
 * @returns with the remedy; undefined where the system's words are all there is to say
 */
export function refusalMeaning(path: string, said: string): string | undefined {
  const folder = nearestFolder(resolve(path));
  const reason = reasonIn(wordsOf(said, folder));
  if (reason === "full")
    return `no space left for it on the file system of ${folder} (${bytesText(freeBytesOf(folder))} free). ${roomRemedy(path)}`;
  if (reason === "readOnly") return `${folder} is on a read-only file system. Remedy: ${otherPlace(path)}`;
  if (reason === "closed")
    return `this user may not write to ${folder}. Remedy: have its owner allow it, or ${otherPlace(path)}`;
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
  return new SeekError("ERR_IO", `${path}: cannot be ${what}: ${refusalMeaning(path, said) ?? said}`, {
    cause,
  });
}

/** Where neither the error nor who caught it names a folder. */
const somewhere = {
  full: "no space left on its file system. Remedy: make room there, or name a folder on another",
  readOnly: "its file system is read-only. Remedy: name a folder on another",
} as const;

/**
 * The same for an error that may be of anything, such as one that a library threw. Permission may be denied of reading a file
 * or of starting a program, too: where no folder was to be made, it does not count.
 *
 * @param error - whatever was caught
 * @param folder - that was written to, where the error itself names no file: one of writing does not
 * @returns undefined unless the file system was full or read-only, or a folder could not be made
 */
export function writeRefusal(error: unknown, folder?: string): SeekError | undefined {
  const { syscall, path = folder, message } = Object(error) as NodeJS.ErrnoException;
  if (syscall === undefined) return undefined;
  if (path !== undefined && /^mkd(ir|temp)$/.test(syscall))
    return refusalMeaning(path, message) === undefined ? undefined : refusedWrite(path, error, "made");
  const reason = reasonIn(message);
  if (reason === undefined || reason === "closed") return undefined;
  if (path !== undefined) return refusedWrite(path, error);
  return new SeekError("ERR_IO", `a file cannot be written: ${somewhere[reason]}`, { cause: error });
}

/**
 * Whether an error of writing what a server sends is the disk's, and no break of the line.
 *
 * @param error - whatever was caught
 */
export function isOfDisk(error: unknown): boolean {
  const { syscall, code = "" } = Object(error) as NodeJS.ErrnoException;
  // An address that is not found may be ENOENT, one that a firewall keeps away EACCES.
  if (syscall === "getaddrinfo" || syscall === "connect") return false;
  return code === "ENOENT" || code === "ENOTDIR" || reasonIn(code) !== undefined;
}

/**
 * Refuses a folder that has no room for what is to be written.
 *
 * @param folder - that is there
 * @param numBytes - to be written
 * @throws ERR_IO with what there is, and the remedy
 */
export function requireRoom(folder: string, numBytes: number): void {
  const freeBytes = freeBytesOf(folder);
  if (numBytes <= freeBytes) return;
  const what = `expected room for ${bytesText(numBytes)}, got ${bytesText(freeBytes)}`;
  throw new SeekError("ERR_IO", `${folder}: ${what}. ${roomRemedy(folder)}`);
}

/**
 * The native core's words of a file that cannot be written, with meaning and remedy.
 *
 * @param message - for example `runs/a/lock: cannot be written: No space left on device`
 * @returns the message where it is about anything else
 */
export function explainedWrite(message: string): string {
  const [, path, what, said] = /^(.+?): cannot be (\w+): ([^:]+)$/s.exec(message) ?? [];
  const meaning = path === undefined || said === undefined ? undefined : refusalMeaning(path, said);
  return meaning === undefined ? message : `${path}: cannot be ${what}: ${meaning}`;
}
