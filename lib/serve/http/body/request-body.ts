/** A request's body: read within a size, parsed, checked by a schema. */
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { Extent } from "./extent.ts";
import { issuesOf, sentenceOf } from "./issues.ts";
import { parseJson, type TextSpan } from "./long-texts.ts";
import { Refusal } from "../refusal.ts";
import { Pace } from "../slices.ts";

function tooLarge(maxBytes: number): Refusal {
  return new Refusal("body_too_large", `body: expected at most ${maxBytes} bytes, got more`);
}

/** Before a byte is read. */
function checkHeaders({ headers }: IncomingMessage, maxBytes: number): void {
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity")
    throw new Refusal(
      "unsupported_encoding",
      `content-encoding: expected none, got ${encoding.slice(0, 40)}`,
    );
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

/** Of a body that does not say its length. */
const firstBytes = 1 << 14;

/** How large a body may be. */
export interface BodyLimits {
  readonly maxBodyBytes: number;
}

/** The bytes of a body; rejects with the signal's reason when it fires, and when the connection ends early. */
export async function readBytes(
  incoming: IncomingMessage,
  { maxBodyBytes: maxBytes, signal }: BodyLimits & { readonly signal: AbortSignal },
): Promise<Buffer> {
  checkHeaders(incoming, maxBytes);
  // In its place as it comes: to join 16 MB at the end would hold others up.
  let bytes = Buffer.allocUnsafe(Number(incoming.headers["content-length"] ?? firstBytes));
  let numBytes = 0;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => finish(() => reject(signal.reason));
    const onClose = (): void => finish(() => reject(new Refusal("client_gone", "body: connection closed")));
    const onEnd = (): void => finish(() => resolve(bytes.subarray(0, numBytes)));
    const onData = (part: Buffer): void => {
      const length = numBytes + part.length;
      if (length > maxBytes) {
        finish(() => reject(tooLarge(maxBytes)));
        return;
      }
      if (length > bytes.length) bytes = Buffer.concat([bytes.subarray(0, numBytes)], 2 * length);
      part.copy(bytes, numBytes);
      numBytes = length;
    };
    const finish = (settle: () => void): void => {
      incoming.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    incoming.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

function malformed(cause: unknown): Refusal {
  const what = cause instanceof SyntaxError ? cause.message.split(/, ["."]|\n/)[0] : "not UTF-8";
  const position = Number(/position (\d+)/.exec((cause as Error).message)?.[1] ?? 0);
  const issue = {
    type: "json_invalid",
    loc: ["body", position],
    msg: "JSON decode error",
    input: {},
    ctx: { error: what },
  };
  return new Refusal("malformed_json", `body: malformed JSON: ${what}`, { issues: [issue], cause });
}

const [quote, backslash] = [34, 92];
const colon = 58;

/** Where a text ends that begins before a place. */
function endOfText(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(quote, from); at >= 0; at = bytes.indexOf(quote, at + 1)) {
    let before = at;
    while (before > from && bytes[before - 1] === backslash) before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return bytes.length;
}

/** Bytes that are looked at between two turns of others. */
const sliceBytes = 1 << 16;

/** A text of more bytes is read apart. */
const longBytes = 1 << 16;

/** Whether the text before a place is the name of a value. */
function isName(bytes: Buffer, end: number): boolean {
  let at = end + 1;
  while ([9, 10, 13, 32].includes(bytes[at] as number)) at += 1;
  return bytes[at] === colon;
}

/**
 * Looks at a body before it is parsed, letting others have their turn.
 *
 * @param extent - of the body; it is added to
 * @returns its long texts
 * @throws Refusal for what takes too long to read
 */
async function longTextsOf(bytes: Buffer, extent: Extent, pace: Pace): Promise<TextSpan[]> {
  const spans: TextSpan[] = [];
  let slice = sliceBytes;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === quote) {
      const end = endOfText(bytes, at + 1);
      if (end - at > longBytes && end < bytes.length && !isName(bytes, end))
        spans.push({ from: at + 1, to: end });
      at = end;
    } else extent.add(bytes[at]);
    if (at < slice) continue;
    slice = at + sliceBytes;
    await pace.breathe();
  }
  return spans;
}

/** Texts of a value that are JSON themselves: the arguments of calls. */
function* argumentsIn(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const each of value) if (typeof each === "object") yield* argumentsIn(each);
    return;
  }
  for (const [key, each] of Object.entries(value)) {
    if (typeof each !== "string") yield* argumentsIn(each);
    else if (key === "arguments") yield each;
  }
}

async function parse(bytes: Buffer, pace: Pace): Promise<unknown> {
  const extent = new Extent();
  const spans = await longTextsOf(bytes, extent, pace);
  if (bytes.length === 0) return undefined;
  const body = await parseJson(bytes, spans, pace).catch((cause: unknown) => {
    throw malformed(cause);
  });
  for (const text of argumentsIn(body)) {
    extent.addText(text, "arguments of calls");
    await pace.breathe();
  }
  return body;
}

/** A body that was read, parsed and checked. @throws Refusal that names the fault */
export async function checkedBody<Shape extends z.ZodType>(
  schema: Shape,
  bytes: Buffer,
): Promise<z.output<Shape>> {
  const pace = new Pace();
  const body = await parse(bytes, pace);
  await pace.breathe();
  const parsed = schema.safeParse(body);
  await pace.breathe();
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error, body);
  throw new Refusal("invalid_request", sentenceOf(issues), { issues });
}

/** What stands in a checked body for a field that was read and says nothing. */
export const ignored = Symbol("ignored");

/**
 * The fields of a checked body that were ignored.
 *
 * @returns their names, each once, without places in lists: `messages.annotations`
 */
export function ignoredIn(body: unknown): string[] {
  const names = new Set<string>();
  const walk = (value: unknown, name: string): void => {
    if (value === ignored) names.add(name);
    else if (Array.isArray(value)) {
      // Lists are of one kind, and long ones of numbers or texts.
      if (typeof value[0] === "object") for (const each of value) walk(each, name);
    } else if (typeof value === "object" && value !== null) {
      for (const [key, each] of Object.entries(value)) walk(each, name === "" ? key : `${name}.${key}`);
    }
  };
  walk(body, "");
  return [...names];
}
