/** JSON with texts of megabytes, which are read piece by piece: JSON.parse takes 10 ms for each megabyte of one. */
import { randomUUID } from "node:crypto";
import type { Pace } from "../slices.ts";

/** A text of JSON within its quotes: bytes from `from` to before `to`. */
export interface TextSpan {
  readonly from: number;
  readonly to: number;
}

/** Bytes that are read at once. */
const pieceBytes = 1 << 17;

const backslash = 92;
const letterU = 117;

const utf8 = new TextDecoder("utf-8", { fatal: true });
/** Within a text a byte order mark is a character. */
const utf8Within = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses JSON, letting others have their turn while long texts are read.
 *
 * @param bytes - JSON
 * @param spans - its long texts, none of them a name
 * @throws SyntaxError and TypeError as JSON.parse and TextDecoder throw them
 */
export async function parseJson(bytes: Buffer, spans: readonly TextSpan[], pace: Pace): Promise<unknown> {
  if (spans.length === 0) return JSON.parse(utf8.decode(bytes));
  const mark = randomUUID();
  const parts: Buffer[] = [];
  let at = 0;
  for (const [i, { from, to }] of spans.entries()) {
    parts.push(bytes.subarray(at, from), Buffer.from(`${mark}${i}`));
    at = to;
  }
  const shortened: unknown = JSON.parse(utf8.decode(Buffer.concat([...parts, bytes.subarray(at)])));
  const texts: string[] = [];
  for (const span of spans) texts.push(await textOf(bytes, span, pace));
  return withTexts(shortened, (text) =>
    text.startsWith(mark) ? texts[Number(text.slice(mark.length))] : undefined,
  );
}

async function textOf(bytes: Buffer, { from, to }: TextSpan, pace: Pace): Promise<string> {
  let text = "";
  for (let at = from; at < to; ) {
    const end = endOfPiece(bytes, at, to);
    text += JSON.parse(`"${utf8Within.decode(bytes.subarray(at, end))}"`) as string;
    at = end;
    await pace.breathe();
  }
  return text;
}

/** Where a piece may end: within no escape and no character. */
function endOfPiece(bytes: Buffer, from: number, to: number): number {
  let end = from + pieceBytes;
  if (end >= to) return to;
  // A character has four bytes at most, of which all but the first begin with the bits 10.
  while (((bytes[end] as number) & 0xc0) === 0x80 && end > from + pieceBytes - 4) end -= 1;
  for (let at = bytes.indexOf(backslash, from); at >= 0 && at < end; at = bytes.indexOf(backslash, at)) {
    const after = at + (bytes[at + 1] === letterU ? 6 : 2);
    if (after > end) return Math.min(after, to);
    at = after;
  }
  return end;
}

/** A value in which some texts stand for others; it is changed. */
function withTexts(value: unknown, textFor: (text: string) => string | undefined): unknown {
  if (typeof value === "string") return textFor(value) ?? value;
  if (typeof value !== "object" || value === null) return value;
  const holder = value as Record<string, unknown>;
  for (const key of Object.keys(holder)) {
    const held = holder[key];
    if (typeof held !== "string" && (typeof held !== "object" || held === null)) continue;
    const read = withTexts(held, textFor);
    // A name such as __proto__ would be set as something else.
    if (read !== held)
      Object.defineProperty(holder, key, {
        value: read,
        writable: true,
        enumerable: true,
        configurable: true,
      });
  }
  return value;
}
