/** How much the file system of a folder still takes, of one that is not there yet too. */
import { existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Bytes as text: `3.5 MB`, `120 MB`, `1.1 GB`, as the set-up has it (`scripts/setup/report.mjs`). */
export function bytesText(numBytes: number): string {
  if (numBytes >= 1e9) return `${(numBytes / 1e9).toFixed(1)} GB`;
  return `${(numBytes / 1e6).toFixed(numBytes < 1e7 ? 1 : 0)} MB`;
}

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
