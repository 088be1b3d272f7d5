/** How much the file system of a folder still takes, of one that is not there yet too. */
import { existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Bytes as text, for example `3.5 GiB`. */
export const binaryBytes = (numBytes: number): string =>
  numBytes < 2 ** 30 ? `${(numBytes / 2 ** 20).toFixed(1)} MiB` : `${(numBytes / 2 ** 30).toFixed(1)} GiB`;

/** The folder itself, or the nearest above it that there is. */
export function nearestFolder(path: string): string {
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  return isFolder || dirname(path) === path ? path : nearestFolder(dirname(path));
}

/** What a user without privileges may still write. */
export function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
