/** Who may ask a server: where it may listen, which key clients send, which names of this machine it answers to. */
import { createHash, timingSafeEqual } from "node:crypto";
import { shownValue } from "../../../../lib/base/check-options.ts";
import { SeekError } from "../../../../lib/base/errors.ts";
import type { Call } from "../call.ts";
import { Refusal } from "../refusal.ts";
import { checkCorsOrigins, isAllowedOrigin, isLocalPage, isLoopback } from "./cors.ts";

/** Where a server listens, and who may ask it. */
export interface AccessOptions {
  /** The address to listen on; "0.0.0.0" for every one. @default "127.0.0.1" */
  readonly host?: string | undefined;
  /** When set, every request but `/health` and those of a page's files must carry it: `Authorization: Bearer ...`. */
  readonly apiKey?: string | undefined;
  /** Lets whoever reaches the address ask without a key, under any name of the machine. @default false */
  readonly open?: boolean | undefined;
  /**
   * Web pages that may ask from a browser and read the answers, by their origin: `"https://chat.example"`; `"localhost"`
   * for those of this machine, on any port; `"*"` for every page. @default none
   */
  readonly corsOrigins?: readonly string[] | undefined;
}

/** The address that is listened on unless another is given. */
export const defaultHost = "127.0.0.1";

/**
 * Refuses a server that others could use without being asked for a key.
 *
 * @param options - host, key, `open`
 * @throws ERR_ARGUMENT for an empty key, one that no header can carry, what is no origin, and an address other than loopback without a key
 */
export function checkAccess(options: AccessOptions): void {
  const { host = defaultHost, apiKey, open = false, corsOrigins = [] } = options;
  checkCorsOrigins(corsOrigins);
  if (apiKey !== undefined && !(open && apiKey === "") && !/^[\x21-\x7e]+$/.test(apiKey)) {
    const got = apiKey === "" ? "an empty one (--open serves without a key)" : "other characters";
    throw new SeekError("ERR_ARGUMENT", `apiKey: expected a key of visible ASCII characters, got ${got}`);
  }
  if (isLoopback(host) || open || apiKey !== undefined) return;
  const remedy = "set apiKey (SEEKRL_API_KEY), or say open (--open)";
  const what = `host: ${shownValue(host)} is reached by other machines and there is no key`;
  throw new SeekError("ERR_ARGUMENT", `${what}; ${remedy}`);
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** The name in a Host header, without its port; undefined for a malformed one. */
function nameOf(header: string): string | undefined {
  return /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d*)?$/i.exec(header)?.[1];
}

/** @throws Refusal 403 for a page that comes from another machine */
function checkOrigin(origin: string | undefined, allowed: readonly string[]): void {
  if (origin === undefined || isLocalPage(origin) || isAllowedOrigin(origin, allowed)) return;
  throw new Refusal("wrong_origin", `origin: expected a page of this machine, got ${origin.slice(0, 100)}`);
}

/**
 * Whether a request may be answered. On loopback without a key the Host header must be a name of this machine's own: a
 * page of the web whose name was led to 127.0.0.1 (DNS rebinding) could ask otherwise; and no page of another machine may
 * ask, even one that cannot read the answer.
 *
 * @param call - the request
 * @param options - of the server
 * @param isPublic - whether what is asked for needs no key
 * @throws Refusal 400, 401, 403 or 421
 */
export function checkCaller(
  call: Pick<Call, "incoming" | "route">,
  options: AccessOptions,
  isPublic: boolean,
): void {
  const { host = defaultHost, apiKey, open = false, corsOrigins = [] } = options;
  const { host: header, origin, authorization = "", "x-api-key": plainKey } = call.incoming.headers;
  const name = header === undefined ? undefined : nameOf(header);
  if (header !== undefined && name === undefined) throw new Refusal("invalid_request", "host: malformed");
  if (apiKey === undefined || apiKey === "") {
    if (open || !isLoopback(host)) return;
    checkOrigin(origin, corsOrigins);
    if (name === undefined || isLoopback(name)) return;
    throw new Refusal(
      "wrong_host",
      `host: expected localhost or a loopback address, got ${name.slice(0, 100)}`,
    );
  }
  if (isPublic) return;
  // The header of Anthropic's clients, and that of all others.
  const [, given = String(plainKey ?? "")] = /^bearer +(.+)$/i.exec(authorization) ?? [];
  // Digests, so that the time it takes says nothing about the key.
  if (timingSafeEqual(digest(given), digest(apiKey))) return;
  const headers = { "www-authenticate": "Bearer" };
  throw new Refusal("unauthorized", "authorization: expected a bearer token that this server knows", {
    headers,
  });
}
