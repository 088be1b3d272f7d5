/** Reads a growing file for a while: a page shows what there is, and the rest is read meanwhile. */
import { setTimeout as sleep } from "node:timers/promises";

/** How long is waited for the end of a file. */
const waitMs = 1000;

/** Reads what was added; what takes longer goes on by itself. @throws what reading throws within that time */
export async function readOn(log: { refresh(): Promise<void> }): Promise<void> {
  const reading = log.refresh();
  reading.catch(() => undefined);
  const stop = new AbortController();
  try {
    await Promise.race([reading, sleep(waitMs, undefined, { signal: stop.signal })]);
  } finally {
    stop.abort();
  }
}
