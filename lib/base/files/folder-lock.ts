/** One writer a folder or file: the operating system's lock, which ends with its holder however that ends. */
import { basename, dirname, join } from "node:path";
import { native } from "../addon/native.ts";
import { makeFolder, removeTemporaries } from "./files.ts";

/** The lock's file within a folder. It stays when the lock is given up: one that is removed could be locked twice. */
const lockFileName = "lock";

// The collector would give up the lock of a handle that nobody refers to any more.
const held = new Set<unknown>();

/** A folder or file that nobody else writes meanwhile. */
export interface FolderLock {
  /** Gives it up; idempotent. */
  close(): void;
  /** Gives it up at the end of a `using` block. */
  [Symbol.dispose](): void;
}

/**
 * Takes a folder for this process alone, without waiting. The kernel gives the lock up when the process ends, by
 * whatever signal, so none is ever stale. A second call in the same process is refused as well.
 *
 * @param folder - made where it is missing
 * @returns the lock, to be closed
 * @throws ERR_STATE naming the process that holds the folder, its machine, and since when; ERR_IO when the file system
 *   refuses
 * @example
 * using lock = await lockFolder("runs/first");
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  return take(folder, lockFileName);
}

/**
 * Takes one file in a folder of many for this process alone, as {@link lockFolder} does a folder; what killed processes
 * left half written of it is removed.
 *
 * @param path - of the file, which need not be there; `<path>.lock` beside it is what is locked
 * @returns the lock, to be closed
 * @throws ERR_STATE, ERR_IO
 */
export async function lockFile(path: string): Promise<FolderLock> {
  const lock = await take(dirname(path), `${basename(path)}.lock`);
  await removeTemporaries(path);
  return lock;
}

async function take(folder: string, name: string): Promise<FolderLock> {
  await makeFolder(folder);
  const lock = native().fileLockTake(join(folder, name));
  held.add(lock);
  const close = (): void => {
    held.delete(lock);
    native().fileLockClose(lock);
  };
  return { close, [Symbol.dispose]: close };
}
