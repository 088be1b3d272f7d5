/** Names of answers, and the time at which they were made, as OpenAI's protocols write them. */
import { randomBytes } from "node:crypto";

/** A new name: `chatcmpl-` and so on with 24 characters behind it. */
export function newId(prefix: string): string {
  return `${prefix}${randomBytes(18).toString("base64url").replace(/[-_]/g, "0")}`;
}

/** Seconds since 1970. */
export function secondsNow(): number {
  return Math.floor(Date.now() / 1000);
}
