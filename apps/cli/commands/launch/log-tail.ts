/** The last lines of a log. */
import { open } from "node:fs/promises";

/** As many as a terminal shows beside the sentence before them. */
const maxLines = 20;
const maxBytes = 4096;

/**
 * The last lines that stand in a file from a place on.
 *
 * @param path - of the file
 * @param start - bytes before it are left out
 * @returns at most 20 lines, of at most 4 kB; empty ones at the end are left out
 */
export async function lastLines(path: string, start: number): Promise<string[]> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const from = Math.max(start, size - maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - from)), 0, undefined, from);
    const lines = buffer.toString("utf8", 0, bytesRead).trimEnd().split("\n");
    // The first one is cut where more stands before it.
    const whole = from > start && lines.length > 1 ? lines.slice(1) : lines;
    return whole.slice(-maxLines).filter((line, i) => i > 0 || line !== "");
  } finally {
    await file.close();
  }
}
