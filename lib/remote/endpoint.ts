/** A server that is asked politely: bounded, retried where that helps, left alone while it fails. */
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import {
  BrokenCircuitError,
  type BulkheadPolicy,
  bulkhead,
  type CircuitBreakerPolicy,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhen,
} from "cockatiel";
import type { z } from "zod";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import { attempt, excerpt, shownUrl, type WireRequest } from "./attempt.ts";
import { Fault, firstIssue } from "./fault.ts";

/** How a server is asked. */
export interface TransportOptions {
  /** One attempt, from sending to the last byte, milliseconds. @default 10_000 */
  readonly timeoutMs?: number;
  /** A call with all its attempts and waits, milliseconds. @default 25_000 */
  readonly deadlineMs?: number;
  /** Attempts after the first, made only after network errors, time-outs, 408, 429 and 5xx. @default 2 */
  readonly retries?: number;
  /** Requests under way at once; others wait for their turn. @default 16 */
  readonly maxConcurrent?: number;
  /** Failures in a row after which nothing is sent for a while; refusals (4xx) are none. @default 8 */
  readonly breakAfter?: number;
  /** How long nothing is sent then, milliseconds; one request afterwards tries whether all is well. @default 2_000 */
  readonly coolMs?: number;
}

/** One request to an endpoint. */
export interface EndpointRequest<Answer> {
  /** Resolved against the endpoint's address. @default the address itself */
  readonly url?: URL;
  readonly method?: "GET" | "POST" | "PUT";
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly contentType?: string;
  /** What the answer must be. */
  readonly expect: z.ZodType<Answer>;
  readonly signal?: AbortSignal | undefined;
}

/** What every request of an endpoint carries. */
export interface EndpointParts {
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts that must not stand in an error message. */
  readonly secrets?: readonly string[];
}

const backoff = new ExponentialBackoff({ initialDelay: 100, maxDelay: 5_000 });

/** Requests to one server share its slots and its breaker. */
export class Endpoint {
  readonly url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #secrets: readonly string[];
  readonly #options: Required<TransportOptions>;
  readonly #slots: BulkheadPolicy;
  readonly #breaker: CircuitBreakerPolicy;
  #lastFault = "";

  /** @throws ERR_ARGUMENT when the address is none of http or https */
  constructor(
    address: string | URL,
    { headers = {}, secrets = [] }: EndpointParts,
    given: TransportOptions = {},
  ) {
    this.url = httpUrl(address);
    const user = takeUser(this.url);
    this.#headers = { ...user.headers, ...headers };
    this.#secrets = [...(user.secrets ?? []), ...secrets];
    this.#options = transportOptions(given);
    this.#slots = bulkhead(this.#options.maxConcurrent, Number.POSITIVE_INFINITY);
    const { breakAfter, coolMs } = this.#options;
    const counts = handleWhen((error) => error instanceof Fault && !error.isRefusal);
    const breaker = new ConsecutiveBreaker(breakAfter);
    this.#breaker = circuitBreaker(counts, { breaker, halfOpenAfter: coolMs });
  }

  /**
   * Asks until there is an answer, no use in asking again, or no time left.
   *
   * @param request - what to ask, and what the answer must be
   * @returns the checked answer
   * @throws ERR_REMOTE naming the address, what was expected and what came; ERR_ABORTED when the signal fires
   */
  async call<Answer>({ signal, ...request }: EndpointRequest<Answer>): Promise<Answer> {
    throwIfAborted(signal, shownUrl(this.url));
    const { deadlineMs } = this.#options;
    const stop = new AbortController();
    const giveUp = (): void => stop.abort();
    const timer = setTimeout(giveUp, deadlineMs);
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      return await Promise.race([
        this.#ask(request, stop.signal, performance.now() + deadlineMs),
        rejection(stop.signal),
      ]);
    } catch (error) {
      throwIfAborted(signal, shownUrl(this.url));
      if (!stop.signal.aborted) throw error;
      throw new Fault(`${shownUrl(this.url)}: no answer within ${deadlineMs} ms`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
    }
  }

  async #ask<Answer>(
    request: EndpointRequest<Answer>,
    signal: AbortSignal,
    deadline: number,
  ): Promise<Answer> {
    const wire = this.#wire(request);
    let wait = backoff.next();
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.#guarded(() => this.#once(wire, request.expect, signal), signal);
      } catch (error) {
        if (!(error instanceof Fault && error.mayRetry) || retries === this.#options.retries) throw error;
        const waitMs = Math.max(error.retryAfterMs ?? 0, wait.duration);
        if (performance.now() + waitMs >= deadline) throw error;
        await delay(waitMs, undefined, { signal });
        wait = wait.next(undefined);
      }
    }
  }

  async #guarded<Answer>(once: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    try {
      return await this.#slots.execute(() => {
        throwIfAborted(signal, shownUrl(this.url));
        return this.#breaker.execute(once);
      });
    } catch (error) {
      if (!(error instanceof BrokenCircuitError)) throw error;
      const { breakAfter, coolMs } = this.#options;
      const rule = `${breakAfter} failures in a row, so nothing is sent for ${coolMs} ms`;
      throw new Fault(`${shownUrl(this.url)}: ${rule}; the last: ${this.#lastFault}`, { cause: error });
    }
  }

  async #once<Answer>(wire: WireRequest, expect: z.ZodType<Answer>, signal: AbortSignal): Promise<Answer> {
    try {
      return this.#parse(await attempt(wire, signal), wire.url, expect);
    } catch (error) {
      // Whoever stopped waiting says nothing about the server.
      if (signal.aborted)
        throw new SeekError("ERR_ABORTED", `${shownUrl(wire.url)}: aborted`, { cause: error });
      if (error instanceof Fault) this.#lastFault = error.message;
      throw error;
    }
  }

  #parse<Answer>(text: string, url: URL, expect: z.ZodType<Answer>): Answer {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch (cause) {
      const got = excerpt(text, this.#secrets) || "nothing";
      throw new Fault(`${shownUrl(url)}: expected JSON, got ${got}`, { cause });
    }
    const parsed = expect.safeParse(json);
    if (parsed.success) return parsed.data;
    throw new Fault(`${shownUrl(url)}: ${firstIssue(parsed.error)}`, { cause: parsed.error });
  }

  #wire({
    url = this.url,
    method = "POST",
    body,
    contentType = "application/json",
  }: EndpointRequest<unknown>): WireRequest {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return {
      ...{ url, method, timeoutMs: this.#options.timeoutMs, secrets: this.#secrets },
      ...(body === undefined ? {} : { body: text }),
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": contentType }),
        ...this.#headers,
      },
    };
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );
}

function httpUrl(address: string | URL): URL {
  const url = URL.canParse(String(address)) ? new URL(address) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  // What cannot be read may hold a password.
  const got = url?.protocol ?? "no address";
  throw new SeekError("ERR_ARGUMENT", `url: expected http://... or https://..., got ${got}`);
}

/** User and password leave the address for a header, which fetch asks for and error messages never show. */
function takeUser(url: URL): EndpointParts {
  if (url.username === "" && url.password === "") return {};
  const pair = [url.username, url.password].map(decodeURIComponent).join(":");
  const secret = Buffer.from(pair).toString("base64");
  const secrets = [secret, decodeURIComponent(url.password)].filter((text) => text !== "");
  url.username = "";
  url.password = "";
  return { headers: { authorization: `Basic ${secret}` }, secrets };
}

function transportOptions({
  timeoutMs = 10_000,
  deadlineMs = 25_000,
  retries = 2,
  maxConcurrent = 16,
  breakAfter = 8,
  coolMs = 2_000,
}: TransportOptions): Required<TransportOptions> {
  const options = { timeoutMs, deadlineMs, retries, maxConcurrent, breakAfter, coolMs };
  for (const [name, value] of Object.entries(options)) {
    const least = name === "retries" ? 0 : 1;
    if (Number.isInteger(value) && value >= least && value < 2 ** 31) continue;
    throw new SeekError("ERR_RANGE", `${name}: expected an integer of at least ${least}, got ${value}`);
  }
  return options;
}
