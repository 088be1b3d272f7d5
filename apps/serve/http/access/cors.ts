/** Which pages of the web may ask from a browser and read the answers (CORS). */
import { isIPv4 } from "node:net";
import { shownValue } from "../../../../lib/base/check-options.ts";
import { SeekError } from "../../../../lib/base/errors.ts";
import type { Call } from "../call.ts";

/** What browsers may do; what they may send is what they ask to send. */
const methods = "GET, POST, DELETE, OPTIONS";

/** Headers of answers that pages may read beside the usual ones. */
const readable = "x-request-id, request-id, retry-after, seekrl-ignored";

/** For how long a browser need not ask again, seconds. */
const maxAge = "600";

/**
 * Refuses what is no origin.
 *
 * @throws ERR_ARGUMENT
 */
export function checkCorsOrigins(origins: readonly string[]): void {
  for (const origin of origins) {
    if (origin === "*" || origin === "localhost") continue;
    if (URL.canParse(origin) && new URL(origin).origin === origin) continue;
    const expected = 'an origin such as "https://chat.example", "localhost" or "*"';
    throw new SeekError("ERR_ARGUMENT", `corsOrigins: expected ${expected}, got ${shownValue(origin)}`);
  }
}

/** Whether an origin is a page of this machine, on any port. */
export function isLocalPage(origin: string): boolean {
  return URL.canParse(origin) && isLoopback(new URL(origin).hostname);
}

/** Whether pages of an origin were given leave. */
export function isAllowedOrigin(origin: string, allowed: readonly string[]): boolean {
  if (allowed.includes("*") || allowed.includes(origin)) return true;
  return allowed.includes("localhost") && isLocalPage(origin);
}

/**
 * Lets the page that asks read the answer, if it may, and answers a browser's question whether it may ask at all.
 *
 * @param call - of any path; a browser asks without the key
 * @param allowed - origins, `localhost` for all of this machine, `*` for every one
 * @returns whether the call was such a question
 */
export function answerCors(call: Call, allowed: readonly string[]): boolean {
  const { method, headers } = call.incoming;
  const { origin } = headers;
  if (allowed.length === 0 || origin === undefined) return false;
  // Answers differ by who asks, so that a cache may not mix them.
  call.headers.vary = "origin";
  const asks = headers["access-control-request-method"] !== undefined && method === "OPTIONS";
  if (!isAllowedOrigin(origin, allowed)) {
    // An answer that names no page tells the browser that this one may not.
    if (asks) call.send([], 200, {});
    return asks;
  }
  // In the specification's letters: some clients compare names by letter.
  call.headers["Access-Control-Allow-Origin"] = origin;
  call.headers["Access-Control-Expose-Headers"] = readable;
  if (!asks) return false;
  call.send([], 200, {
    "Access-Control-Allow-Methods": methods,
    // By name, because "*" does not stand for Authorization.
    "Access-Control-Allow-Headers": headers["access-control-request-headers"] ?? "*",
    "Access-Control-Max-Age": maxAge,
  });
  return true;
}

/** Whether a host is this machine's own: `localhost`, `127.x.x.x`, `::1`, also in brackets. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}
