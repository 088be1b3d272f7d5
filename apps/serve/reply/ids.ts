/** Names of answers, and the time at which they were made, as OpenAI's protocols write them. */
import { randomUUID } from "node:crypto";

/** A new name: `chatcmpl-` and so on with 32 characters behind it. */
export function newId(prefix: string): string {
  // Node draws many at once; a call of the system for each of 10,000 items would take a tenth of a second.
  return `${prefix}${randomUUID().replaceAll("-", "")}`;
}

/** Seconds since 1970. */
export function secondsNow(): number {
  return Math.floor(Date.now() / 1000);
}
