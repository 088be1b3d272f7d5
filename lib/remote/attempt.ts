/** One HTTP request, once: sent, read within a time and a size, and judged by its status. */
import { stat } from "node:fs/promises";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import { streamOf } from "../base/files/regular-file.ts";
import { Fault, statusFault } from "./fault.ts";

/** A request as it goes over the wire. */
export interface WireRequest {
  readonly url: URL;
  readonly method: "GET" | "POST" | "PUT";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The path of a file whose bytes are the body instead. */
  readonly file?: string;
  /** Sending, waiting and reading together, milliseconds. */
  readonly timeoutMs: number;
  /** Texts that must not stand in an error message. */
  readonly secrets: readonly string[];
}

/** Larger answers are refused: no search has that much to say. */
const maxResponseBytes = 64 << 20;

/** Where a request went, without the user, password and query that may stand in its address. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/**
 * Sends a request once and reads the whole answer.
 *
 * @param request - what to send, and how long it may take
 * @param signal - ends it
 * @returns the body of a 2xx answer, as text
 * @throws Fault for everything else; when the signal has fired too
 */
export async function attempt(request: WireRequest, signal: AbortSignal): Promise<string> {
  const stop = new AbortController();
  const giveUp = (): void => stop.abort();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stop.abort();
  }, request.timeoutMs);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    if (signal.aborted) throw signal.reason;
    return await send(request, stop.signal);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    const what = isLate ? `no whole answer within ${request.timeoutMs} ms` : networkMessage(cause);
    throw new Fault(`${shownUrl(request.url)}: ${what}`, { cause, mayRetry: true });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

async function send(asked: WireRequest, signal: AbortSignal): Promise<string> {
  const { url, secrets } = asked;
  const answer = await open(asked, signal);
  const text = await readText(answer, shownUrl(url));
  // Redirects are the caller's to follow: one could carry the key to another host.
  const { statusCode: status = 0, headers } = answer;
  if (status >= 200 && status < 300) return text;
  const said = excerpt(text, secrets);
  throw statusFault(shownUrl(url), {
    status,
    addition: said && `: ${said}`,
    location: headers.location,
    retryAfter: headers["retry-after"],
  });
}

/** Connections are kept for the next request; idle ones do not keep the process alive. */
const agents = {
  "http:": new HttpAgent({ keepAlive: true }),
  "https:": new HttpsAgent({ keepAlive: true }),
} as const;

// Less than half the processor time of fetch, see bench/remote/client.ts.
async function open(
  { url, method, headers, body, file }: WireRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const isSecure = url.protocol === "https:";
  const request = isSecure ? httpsRequest : httpRequest;
  const numBytes = file === undefined ? body && Buffer.byteLength(body) : (await stat(file)).size;
  const length = numBytes === undefined ? {} : { "content-length": String(numBytes) };
  const how = {
    method,
    headers: { ...headers, ...length },
    signal,
    agent: agents[isSecure ? "https:" : "http:"],
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, how, resolve).on("error", reject);
    if (file === undefined) sent.end(body);
    else
      streamOf(file, { highWaterMark: 1 << 16 })
        .then((bytes) => pipeline(bytes, sent))
        .catch(reject);
  });
}

async function readText(answer: IncomingMessage, where: string): Promise<string> {
  const parts: Buffer[] = [];
  let numBytes = 0;
  for await (const part of answer) {
    numBytes += (part as Buffer).byteLength;
    if (numBytes > maxResponseBytes) {
      throw new Fault(`${where}: expected at most ${maxResponseBytes} bytes, got more`);
    }
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** The beginning of what a server said, on one line, secrets left out. */
export function excerpt(text: string, secrets: readonly string[]): string {
  let shown = text.slice(0, 4096);
  for (const secret of secrets) shown = shown.replaceAll(secret, "***");
  return shown.replace(/\s+/g, " ").trim().slice(0, 200);
}

/** A host with several addresses fails with an error for each. */
function networkMessage(error: unknown): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0].message;
  if (!(error instanceof Error)) return String(error);
  // Node's word for an answer that ended before its length.
  return error.message === "aborted" ? "the connection broke in the middle of the answer" : error.message;
}
