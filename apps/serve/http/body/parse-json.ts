/** JSON that is parsed in slices: JSON.parse takes 10 ms and more for each megabyte. */
import { breathe } from "../../../../lib/base/slices/breathe.ts";
import { codes, type Extent, sliceLength } from "./extent.ts";
import { type Large, Outline, type Part } from "./outline.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });
/** Within JSON a byte order mark is a character. */
const utf8Within = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses JSON, letting others have their turn meanwhile.
 *
 * @param bytes - JSON
 * @param extent - is added to, and refuses what takes too long to read
 * @param slice - bytes that are parsed at once
 * @throws Refusal; SyntaxError and TypeError as JSON.parse and TextDecoder throw them
 */
export async function parseJson(bytes: Buffer, extent: Extent, slice = sliceLength): Promise<unknown> {
  if (bytes.length > slice) await breathe();
  const outline = new Outline(bytes, extent, slice);
  while (outline.readSlice()) await breathe();
  if (bytes.length <= slice) return JSON.parse(utf8.decode(bytes));
  const [value, ...others] = await new Slices(bytes, slice).list(outline.end());
  if (value === undefined || others.length > 0) throw new SyntaxError("Expected one value in JSON");
  return value;
}

/** Reads the values of an outline. */
class Slices {
  readonly #bytes: Buffer;
  readonly #slice: number;

  constructor(bytes: Buffer, slice: number) {
    this.#bytes = bytes;
    this.#slice = slice;
  }

  async list({ parts }: Large): Promise<unknown[]> {
    const items: unknown[] = [];
    for (const part of parts) {
      await breathe();
      if (part.large !== undefined) {
        this.#parsed("[", part, "]");
        items.push(await this.#valueOf(part.large));
        continue;
      }
      const run = this.#parsed("[", part, "]") as unknown[];
      checkNotEmpty(run, parts);
      for (const item of run) items.push(item);
    }
    return items;
  }

  async #object({ parts }: Large): Promise<object> {
    const fields: Record<string, unknown> = {};
    for (const part of parts) {
      await breathe();
      const run = this.#parsed("{", part, "}") as Record<string, unknown>;
      const names = Object.keys(run);
      checkNotEmpty(names, parts);
      for (const name of names)
        setField(fields, name, part.large === undefined ? run[name] : await this.#valueOf(part.large));
    }
    return fields;
  }

  #valueOf(large: Large): Promise<unknown> {
    if (large.kind === "text") return this.#text(large);
    return large.kind === "list" ? this.list(large) : this.#object(large);
  }

  /** What stands in a part, between brackets; null in the place of a large value. */
  #parsed(before: string, { from, to, large }: Part, after: string): unknown {
    // A value begins after its bracket or quote.
    const text =
      large === undefined
        ? this.#decoded(from, to)
        : `${this.#decoded(from, large.from - 1)}null${this.#decoded(large.to + 1, to)}`;
    try {
      return JSON.parse(`${before}${text}${after}`);
    } catch (error) {
      throw placed(error as SyntaxError, from - 1);
    }
  }

  async #text({ from, to }: Large): Promise<string> {
    let text = "";
    for (let at = from; at < to; ) {
      const end = this.#endOfPiece(at, to);
      try {
        text += JSON.parse(`"${this.#decoded(at, end)}"`) as string;
      } catch (error) {
        throw placed(error as SyntaxError, at - 1);
      }
      at = end;
      await breathe();
    }
    return text;
  }

  #decoded(from: number, to: number): string {
    return utf8Within.decode(this.#bytes.subarray(from, to));
  }

  /** Where a piece of a text may end: within no escape and no character. */
  #endOfPiece(from: number, to: number): number {
    const bytes = this.#bytes;
    let end = from + this.#slice;
    if (end >= to) return to;
    // A character has four bytes at most, of which all but the first begin with the bits 10.
    while (((bytes[end] as number) & 0xc0) === 0x80 && end > from + this.#slice - 4) end -= 1;
    for (let at = from; at < end; at++) {
      if (bytes[at] !== codes.backslash) continue;
      const after = at + (bytes[at + 1] === letterU ? 6 : 2);
      if (after > end) return Math.min(after, to);
      at = after - 1;
    }
    return end;
  }
}

const letterU = 117;

/** A comma stands between items, and after none. */
function checkNotEmpty(items: readonly unknown[], parts: readonly Part[]): void {
  if (items.length === 0 && parts.length > 1) throw new SyntaxError("Unexpected token ',' in JSON");
}

function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  // It would be set as something else.
  if (name !== "__proto__") fields[name] = value;
  else {
    const field = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(fields, name, field);
  }
}

/** The same error, its position counted from the beginning of all. */
function placed({ message }: SyntaxError, from: number): SyntaxError {
  return new SyntaxError(message.replace(/position (\d+)/, (_, at) => `position ${Number(at) + from}`));
}
