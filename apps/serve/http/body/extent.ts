/** How much JSON there is of a body, which is told before it is parsed. */
import { breathe } from "../../../../lib/base/slices/breathe.ts";
import { Refusal } from "../refusal.ts";

/** Lists and objects within each other: what reads or writes a value goes one call deeper for each. */
const mostLevels = 256;

/** Fields of one object: to read it takes microseconds a field, and cannot be cut in slices. */
const mostFields = 10_000;

/** Lists and objects of a body, its pairs of names and values, and its values: what checks them takes microseconds each. */
const most = { lists: 10_000, pairs: 100_000, values: 300_000 };

/** Characters of JSON within a text, which is parsed at once. */
export const mostTextLength = 1 << 20;

/** Bytes or characters that are looked at between two turns of others. */
export const sliceLength = 1 << 16;

/** Characters that JSON is made of, as bytes and as codes of characters. */
export const codes = {
  quote: 34,
  comma: 44,
  colon: 58,
  list: 91,
  backslash: 92,
  listEnd: 93,
  object: 123,
  objectEnd: 125,
} as const;

/** What of JSON was met so far. */
export class Extent {
  #name = "body";
  #depth = 0;
  #numLists = 0;
  #numPairs = 0;
  #numValues = 0;
  /** Of each object that is open, the outermost first. */
  readonly #numFields: number[] = [];

  /** @throws Refusal for JSON that is deeper or has more values than what reads it may take */
  add(code: number | undefined): void {
    if (code === codes.comma) this.#check(++this.#numValues, most.values, "values");
    else if (code === codes.colon) {
      this.#check(++this.#numPairs, most.pairs, "fields of objects");
      const numFields = (this.#numFields[this.#depth] ?? 0) + 1;
      this.#numFields[this.#depth] = numFields;
      this.#check(numFields, mostFields, "fields of one object");
    } else if (code === codes.list || code === codes.object) {
      this.#check(++this.#depth, mostLevels, "lists and objects within each other");
      this.#check(++this.#numLists, most.lists, "lists and objects");
      this.#numFields[this.#depth] = 0;
    } else if (code === codes.listEnd || code === codes.objectEnd) this.#depth -= 1;
  }

  /**
   * Adds JSON that stands in a text of the body: it is parsed as well.
   *
   * @param name - of such texts
   * @throws Refusal as `add` does, for what was added before and this text together, and for a text of over a million characters
   */
  async addText(text: string, name: string): Promise<void> {
    this.#name = name;
    this.#depth = 0;
    this.#check(text.length, mostTextLength, "characters");
    let isWithin = false;
    for (let at = 0; at < text.length; at++) {
      if (at % sliceLength === 0) await breathe();
      const code = text.charCodeAt(at);
      if (code === codes.quote) isWithin = !isWithin;
      else if (!isWithin) this.add(code);
      else if (code === codes.backslash) at += 1;
    }
  }

  #check(count: number, bound: number, what: string): void {
    if (count > bound)
      throw new Refusal("invalid_request", `${this.#name}: expected at most ${bound} ${what}`);
  }
}
