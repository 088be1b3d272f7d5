/** A request's body: read within a size, parsed, checked by a schema. */
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { breathe } from "../../../../lib/base/slices/breathe.ts";
import { Refusal } from "../refusal.ts";
import { Extent, sliceLength } from "./extent.ts";
import { issuesOf, sentenceOf } from "./issues.ts";
import { parseJson } from "./parse-json.ts";

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

async function parse(bytes: Buffer): Promise<unknown> {
  const extent = new Extent();
  if (bytes.length === 0) return undefined;
  const body = await parseJson(bytes, extent).catch((cause: unknown) => {
    throw cause instanceof Refusal ? cause : malformed(cause);
  });
  for (const text of argumentsIn(body)) await extent.addText(text, "arguments of calls");
  return body;
}

/** A body that was read, parsed and checked. @throws Refusal that names the fault */
export async function checkedBody<Shape extends z.ZodType>(
  schema: Shape,
  bytes: Buffer,
): Promise<z.output<Shape>> {
  const body = await parse(bytes);
  const parsed = await schema.safeParseAsync(body);
  if (bytes.length > sliceLength) await breathe();
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error, body);
  throw new Refusal("invalid_request", sentenceOf(issues), { issues });
}

/** What stands in a checked body for a field that was read and says nothing. */
export const ignored = Symbol("ignored");

/**
 * The fields of a checked body that were ignored.
 *
 * @returns their names in order, each once, without places in lists: `messages.annotations`
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
  return [...names].sort();
}
