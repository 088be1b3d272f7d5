/** Where the large values of JSON stand, told from its bytes before it is parsed. */
import { Refusal } from "../refusal.ts";
import { codes, type Extent, sliceLength } from "./extent.ts";

/** Some items of a list or an object with the commas between them, or one item whose value is large. */
export interface Part {
  readonly from: number;
  readonly to: number;
  readonly large?: Large | undefined;
}

/** A text, list or object of more bytes than are parsed at once, its quotes or brackets left out. */
export interface Large {
  readonly kind: "text" | "list" | "object";
  readonly from: number;
  readonly to: number;
  /** Of a list or an object. */
  readonly parts: readonly Part[];
}

/** A list or an object whose end was not met yet; that of all bytes is a list of one value. */
interface Open {
  readonly kind: "list" | "object";
  readonly from: number;
  readonly parts: Part[];
  /** Where the items begin that no part holds yet, and where the last item does. */
  runFrom: number;
  itemFrom: number;
  /** The value of that item. */
  large: Large | undefined;
}

/** A name, a colon, a value that is not large, and white space around each. */
const mostPieces = 7;

const open = (kind: Open["kind"], from: number): Open => ({
  ...{ kind, from, parts: [], runFrom: from, itemFrom: from, large: undefined },
});

/** Reads bytes slice by slice. */
export class Outline {
  readonly #bytes: Buffer;
  readonly #extent: Extent;
  readonly #slice: number;
  readonly #open: Open[];
  /** Where the text begins that is being read. */
  #textFrom: number | undefined;
  /** The last character that is no part of a number, of a word such as `true`, or of the white space between values. */
  #markAt: number;
  #at: number;

  /**
   * @param extent - is added to, and refuses what takes too long to read
   * @param slice - bytes that are looked at and parsed at once
   */
  constructor(bytes: Buffer, extent: Extent, slice: number) {
    this.#slice = slice;
    this.#bytes = bytes;
    this.#extent = extent;
    const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    this.#at = hasMark ? 3 : 0;
    this.#markAt = this.#at;
    this.#open = [open("list", this.#at)];
  }

  /** Reads on. @returns whether there is more. @throws Refusal; SyntaxError */
  readSlice(): boolean {
    const end = Math.min(this.#bytes.length, this.#at + this.#slice);
    while (this.#at < end) {
      const code = this.#bytes[this.#at] as number;
      if (this.#textFrom === undefined) this.#readBetween(code);
      else if (code === codes.backslash) this.#at += 1;
      else if (code === codes.quote) this.#endText(this.#textFrom);
      this.#at += 1;
    }
    if (this.#textFrom === undefined) this.#checkBare();
    return this.#at < this.#bytes.length;
  }

  /** All bytes, as a list of one value. @throws SyntaxError where something is open */
  end(): Large {
    const [whole, other] = this.#open;
    if (whole === undefined || other !== undefined || this.#textFrom !== undefined)
      throw new SyntaxError("Unexpected end of JSON input");
    this.#endItem(whole, true);
    return { kind: "list", from: whole.from, to: this.#at, parts: whole.parts };
  }

  #readBetween(code: number): void {
    const holder = this.#open.at(-1) as Open;
    if (code === codes.quote) this.#textFrom = this.#at + 1;
    else if (code === codes.list || code === codes.object)
      this.#open.push(open(code === codes.list ? "list" : "object", this.#at + 1));
    else if (code === codes.listEnd || code === codes.objectEnd) this.#close(holder, code);
    else if (code === codes.comma) this.#endItem(holder, false);
    else if (code !== codes.colon) return;
    else if (holder.kind === "object" && holder.large !== undefined) throw tooLong("a name");
    this.#extent.add(code);
    this.#checkBare();
    this.#markAt = this.#at;
  }

  #endText(from: number): void {
    this.#textFrom = undefined;
    this.#markAt = this.#at;
    this.#add({ kind: "text", from, to: this.#at, parts: [] });
  }

  #close(holder: Open, code: number): void {
    const { kind, from, parts } = holder;
    this.#open.pop();
    if (this.#open.length === 0 || (code === codes.listEnd) !== (kind === "list"))
      throw new SyntaxError(
        `Unexpected token '${String.fromCharCode(code)}' in JSON at position ${this.#at}`,
      );
    this.#endItem(holder, true);
    this.#add({ kind, from, to: this.#at, parts });
  }

  #add(value: Large): void {
    const holder = this.#open.at(-1) as Open;
    if (value.to - value.from <= this.#slice) return;
    if (holder.large !== undefined)
      throw new SyntaxError(`Expected ',' after a value in JSON at position ${value.from}`);
    holder.large = value;
  }

  #endItem(holder: Open, isLast: boolean): void {
    const { parts, runFrom: from, itemFrom, large } = holder;
    const to = this.#at;
    if (large !== undefined) {
      if (from < itemFrom) parts.push({ from, to: itemFrom - 1 });
      parts.push({ from: itemFrom, to, large });
    } else if (to - itemFrom > mostPieces * this.#slice)
      throw new SyntaxError(`Expected ',' after a value in JSON at position ${itemFrom + this.#slice}`);
    else if (isLast || to - from > this.#slice) parts.push({ from, to });
    if (parts.at(-1)?.to === to) holder.runFrom = to + 1;
    holder.itemFrom = to + 1;
    holder.large = undefined;
  }

  #checkBare(): void {
    if (this.#at - this.#markAt > sliceLength) throw tooLong("a number or white space");
  }
}

function tooLong(what: string): Refusal {
  return new Refusal("invalid_request", `body: expected ${what} of at most ${sliceLength} bytes`);
}
