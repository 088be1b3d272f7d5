/** A request's body: read within a size, parsed, checked by a schema. */
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
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

/** Lists and objects within each other: what reads or writes a value goes one call deeper for each. */
const mostLevels = 256;

const [quote, backslash] = [34, 92];
const opening: ReadonlySet<number | undefined> = new Set(Buffer.from("{["));
const closing: ReadonlySet<number | undefined> = new Set(Buffer.from("}]"));

/** Where a text ends that begins before a place. */
function endOfText(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(quote, from); at >= 0; at = bytes.indexOf(quote, at + 1)) {
    let before = at;
    while (before > from && bytes[before - 1] === backslash) before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return bytes.length;
}

/** Lists and objects of a body, its pairs of names and values, and its values: what checks them takes microseconds each. */
const most = { lists: 10_000, pairs: 100_000, values: 300_000 };

/** Bytes that are looked at between two turns of others. */
const sliceBytes = 1 << 16;

const [comma, colon] = [44, 58];

/** What of JSON was met so far. */
class Extent {
  #depth = 0;
  #numLists = 0;
  #numPairs = 0;
  #numValues = 0;

  /** @throws Refusal for JSON that is deeper or has more values than what reads it may take */
  add(code: number | undefined): void {
    if (code === comma) this.#check(++this.#numValues, most.values, "values");
    else if (code === colon) this.#check(++this.#numPairs, most.pairs, "fields of objects");
    else if (opening.has(code)) {
      this.#check(++this.#depth, mostLevels, "lists and objects within each other");
      this.#check(++this.#numLists, most.lists, "lists and objects");
    } else if (closing.has(code)) this.#depth -= 1;
  }

  #check(count: number, bound: number, what: string): void {
    if (count > bound) throw new Refusal("invalid_request", `body: expected at most ${bound} ${what}`);
  }
}

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
 * @returns its long texts
 * @throws Refusal for what takes too long to read
 */
async function longTextsOf(bytes: Buffer, pace: Pace): Promise<TextSpan[]> {
  const [extent, spans] = [new Extent(), [] as TextSpan[]];
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

async function parse(bytes: Buffer, pace: Pace): Promise<unknown> {
  const spans = await longTextsOf(bytes, pace);
  if (bytes.length === 0) return undefined;
  try {
    return await parseJson(bytes, spans, pace);
  } catch (cause) {
    throw malformed(cause);
  }
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
