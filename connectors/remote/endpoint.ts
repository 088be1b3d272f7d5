/** An HTTP server that answers JSON: requests in, checked answers out. */
import type { z } from "zod";
import { SeekError } from "../../lib/base/errors.ts";
import { parseExactJson } from "../../lib/base/files/exact-json.ts";
import { firstIssue } from "../../lib/base/parsed.ts";
import { attempt, excerpt, type WireRequest } from "./attempt.ts";
import { Fault, mayPass } from "./fault.ts";
import { Guard, type TransportOptions } from "./guard.ts";
import { shownUrl } from "./network/proxy.ts";

/** One request to an endpoint. */
interface EndpointRequest<Answer> {
  /** @default the endpoint's own address */
  readonly url?: URL;
  /** @default "POST" */
  readonly method?: "GET" | "POST" | "PUT";
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  /** @default "application/json" */
  readonly contentType?: string;
  /** Besides the endpoint's. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What the answer must be. */
  readonly expect: z.ZodType<Answer>;
  /** Throws a Fault when an answer of the right shape says that something failed. */
  readonly judge?: (answer: Answer) => void;
  readonly signal?: AbortSignal | undefined;
}

/** A file on its way to an endpoint. */
interface FileUpload {
  readonly url: URL;
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
}

/** What every request of an endpoint carries. */
interface EndpointParts {
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts that must not stand in an error message. */
  readonly secrets?: readonly string[];
}

/** Requests to one server share its slots and its breaker. */
export class Endpoint {
  readonly url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #secrets: readonly string[];
  readonly #guard: Guard;

  /** @throws ERR_ARGUMENT when the address is none of http or https; ERR_RANGE */
  constructor(address: URL, { headers = {}, secrets = [] }: EndpointParts, transport: TransportOptions = {}) {
    this.url = new URL(address);
    const user = takeUser(this.url);
    this.#headers = { ...user.headers, ...headers };
    this.#secrets = [...(user.secrets ?? []), ...secrets];
    this.#guard = new Guard(shownUrl(this.url), transport);
  }

  /** What stands at the beginning of error messages. */
  get name(): string {
    return this.#guard.name;
  }

  /** Whether so many requests failed in a row that nothing is sent for a while. */
  get isBroken(): boolean {
    return this.#guard.isBroken;
  }

  /**
   * Asks until there is an answer, no use in asking again, or no time left.
   *
   * @param request - what to ask, and what the answer must be
   * @returns the checked answer
   * @throws ERR_REMOTE naming the address, what was expected and what came; ERR_ABORTED when the signal fires
   */
  async call<Answer>({ signal, expect, judge, ...request }: EndpointRequest<Answer>): Promise<Answer> {
    const wire = this.#wire(request);
    const once = async (stop: AbortSignal): Promise<Answer> => {
      const answer = this.#parse(await attempt(wire, stop), wire.url, expect);
      judge?.(answer);
      return answer;
    };
    return this.#guard.run(once, signal);
  }

  /**
   * The same for an answer that need not be JSON.
   *
   * @returns the text of an answer of status 2xx
   * @throws as {@link Endpoint.call}
   */
  async text({ signal, ...request }: Omit<EndpointRequest<unknown>, "expect" | "judge">): Promise<string> {
    const wire = this.#wire(request);
    return this.#guard.run((stop) => attempt(wire, stop), signal);
  }

  /**
   * Sends a file's bytes, of whatever size, and reads the answer's text.
   *
   * @param url - where to; `path` is the file
   * @throws as {@link Endpoint.call}; ERR_REMOTE when the file cannot be read
   */
  async upload({ url, path, signal }: FileUpload): Promise<string> {
    const wire = { ...this.#wire({ url }), file: path };
    return this.#guard.run((stop) => attempt(wire, stop), signal);
  }

  /** An address below the endpoint's; each part is one segment, whatever it contains. */
  at(...parts: readonly string[]): URL {
    const url = new URL(this.url);
    const path = [url.pathname.replace(/\/$/, ""), ...parts.map(encodeURIComponent)].join("/");
    url.pathname = path;
    return url;
  }

  #parse<Answer>(text: string, url: URL, expect: z.ZodType<Answer>): Answer {
    let json: unknown;
    try {
      json = parseExactJson(text);
    } catch (cause) {
      const got = excerpt(text, this.#secrets) || "nothing";
      throw new Fault(`${shownUrl(url)}: expected JSON, got ${got}`, { cause });
    }
    const parsed = expect.safeParse(json);
    if (parsed.success) return parsed.data;
    const where = shownUrl(url);
    if (!isErrorObject(json))
      throw new Fault(`${where}: ${firstIssue(parsed.error, "the answer")}`, { cause: parsed.error });
    // Routers of hosted models put what befell the model behind them into an answer of status 200.
    const status = Number(json.error.code);
    const said = excerpt(JSON.stringify(json), this.#secrets);
    throw new Fault(`${where}: answered with ${said}`, { mayRetry: mayPass(status) });
  }

  #wire({
    url = this.url,
    method = "POST",
    body,
    contentType = "application/json",
    headers: own = {},
  }: Omit<EndpointRequest<unknown>, "expect" | "judge">): WireRequest {
    const common = { url, method, timeoutMs: this.#guard.options.timeoutMs, secrets: this.#secrets };
    const headers = { accept: "application/json", ...this.#headers, ...own };
    if (body === undefined) return { ...common, headers };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return { ...common, headers: { ...headers, "content-type": contentType }, body: text };
  }
}

function isErrorObject(json: unknown): json is { readonly error: { readonly code?: unknown } } {
  const { error } = (json ?? {}) as { error?: unknown };
  return typeof error === "object" && error !== null;
}

/**
 * An address of http or https.
 *
 * @param address - as it was given
 * @param path - takes the place of an empty path
 * @throws ERR_ARGUMENT
 */
export function httpUrl(address: string, path = "/"): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    // What cannot be read may hold a password.
    const got = address.includes("@") ? "another address" : JSON.stringify(address);
    throw new SeekError("ERR_ARGUMENT", `url: expected http://... or https://..., got ${got}`);
  }
  if (url.pathname === "/") url.pathname = path;
  return url;
}

/** User and password leave the address for a header, so that no error message shows them. */
function takeUser(url: URL): EndpointParts {
  if (url.username === "" && url.password === "") return {};
  const pair = [url.username, url.password].map(decodeURIComponent).join(":");
  const secret = Buffer.from(pair).toString("base64");
  const secrets = [secret, decodeURIComponent(url.password)].filter((text) => text !== "");
  url.username = "";
  url.password = "";
  return { headers: { authorization: `Basic ${secret}` }, secrets };
}
