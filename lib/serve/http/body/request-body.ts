/** A request's body: read within a size, parsed, checked by a schema. */
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { issuesOf, sentenceOf } from "./issues.ts";
import { Refusal } from "../refusal.ts";
import { Pace } from "../slices.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

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
  const parts: Buffer[] = [];
  let numBytes = 0;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => finish(() => reject(signal.reason));
    const onClose = (): void => finish(() => reject(new Refusal("client_gone", "body: connection closed")));
    const onEnd = (): void => finish(() => resolve(Buffer.concat(parts)));
    const onData = (part: Buffer): void => {
      parts.push(part);
      numBytes += part.length;
      if (numBytes > maxBytes) finish(() => reject(tooLarge(maxBytes)));
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

function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw malformed(cause);
  }
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
const most = { lists: 20_000, pairs: 100_000, values: 1_000_000 };

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

/** Looks at a body before it is parsed, letting others have their turn. @throws Refusal for what takes too long to read */
async function checkExtent(bytes: Buffer): Promise<void> {
  const [pace, extent] = [new Pace(), new Extent()];
  let slice = sliceBytes;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at];
    if (code === quote) at = endOfText(bytes, at + 1);
    else extent.add(code);
    if (at < slice) continue;
    slice = at + sliceBytes;
    await pace.breathe();
  }
}

/** A body that was read, parsed and checked. @throws Refusal that names the fault */
export async function checkedBody<Shape extends z.ZodType>(
  schema: Shape,
  bytes: Buffer,
): Promise<z.output<Shape>> {
  await checkExtent(bytes);
  const body = parse(bytes);
  const parsed = schema.safeParse(body);
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
