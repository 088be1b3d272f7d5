/** One HTTP request, once: sent, read within a time and a size, and judged by its status. */
import { stat } from "node:fs/promises";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { Readable } from "node:stream";
import { streamOf } from "../../lib/base/files/regular-file.ts";
import { Fault, statusFault } from "./fault.ts";
import { type OpenAnswer, openRequest } from "./network/open-request.ts";
import { shownUrl } from "./network/proxy.ts";

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
  const { status, headers, body } = answer;
  const text = await readText(body, url);
  // Redirects are the caller's to follow: one could carry the key to another host.
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

async function open(
  { url, method, headers, body, file }: WireRequest,
  signal: AbortSignal,
): Promise<OpenAnswer> {
  const agent = agents[url.protocol === "https:" ? "https:" : "http:"];
  const numBytes = file === undefined ? body && Buffer.byteLength(body) : (await stat(file)).size;
  const length: Record<string, string> = numBytes === undefined ? {} : { "content-length": String(numBytes) };
  const content = file === undefined ? body : await streamOf(file, { highWaterMark: 1 << 16 });
  try {
    return await openRequest(url, {
      method,
      headers: { ...headers, ...length },
      body: content,
      signal,
      agent,
    });
  } catch (error) {
    // A request that was never sent reads nothing of its file, which stays open otherwise.
    if (content instanceof Readable) content.destroy();
    throw error;
  }
}

async function readText(answer: Readable, url: URL): Promise<string> {
  const parts: Buffer[] = [];
  let numBytes = 0;
  for await (const part of answer) {
    numBytes += (part as Buffer).byteLength;
    if (numBytes > maxResponseBytes) {
      throw new Fault(`${shownUrl(url)}: expected at most ${maxResponseBytes} bytes, got more`);
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
