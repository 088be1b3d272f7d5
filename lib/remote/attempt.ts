/** One HTTP request, once: sent, read within a time and a size, and judged by its status. */
import { Fault } from "./fault.ts";

/** A request as it goes over the wire. */
export interface WireRequest {
  readonly url: URL;
  readonly method: "GET" | "POST" | "PUT";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
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

async function send(
  { url, method, headers, body, secrets }: WireRequest,
  signal: AbortSignal,
): Promise<string> {
  // A redirect could carry the key to another host.
  const answer = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    signal,
    redirect: "manual",
  });
  const text = await readText(answer, shownUrl(url));
  if (answer.ok) return text;
  const said = excerpt(text, secrets);
  const where = `${shownUrl(url)}: expected status 200, got ${answer.status}`;
  throw new Fault(said === "" ? where : `${where}: ${said}`, {
    mayRetry: answer.status === 429 || answer.status === 408 || answer.status >= 500,
    isRefusal: answer.status < 500,
    status: answer.status,
    retryAfterMs: retryAfter(answer.headers.get("retry-after")),
  });
}

async function readText(answer: Response, where: string): Promise<string> {
  if (answer.body === null) return "";
  const parts: Uint8Array[] = [];
  let numBytes = 0;
  for await (const part of answer.body) {
    numBytes += part.byteLength;
    if (numBytes > maxResponseBytes) {
      throw new Fault(`${where}: expected at most ${maxResponseBytes} bytes, got more`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** The beginning of what a server said, on one line, secrets left out. */
export function excerpt(text: string, secrets: readonly string[]): string {
  let shown = text.slice(0, 4096);
  for (const secret of secrets) shown = shown.replaceAll(secret, "***");
  return shown.replace(/\s+/g, " ").trim().slice(0, 200);
}

/** `Retry-After` is a number of seconds or a date. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** fetch says "fetch failed" and keeps the reason for itself. */
function networkMessage(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message;
  return cause instanceof Error ? cause.message : String(cause);
}
