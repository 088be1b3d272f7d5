/** The disk of a folder, looked at before anything is written to it. */
import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { freeBytesOf, nearestFolder } from "./free-space.ts";
import { refusalMeaning } from "./refused-write.ts";

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
    return { freeBytes, problem: refusalMeaning(folder, message) ?? message };
  }
  return { freeBytes, problem: freeBytes < leastBytes ? refusalMeaning(folder, "ENOSPC") : undefined };
}
