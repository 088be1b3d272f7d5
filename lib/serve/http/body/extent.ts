/** How much JSON there is of a body, which is told before it is parsed. */
import { Refusal } from "../refusal.ts";

/** Lists and objects within each other: what reads or writes a value goes one call deeper for each. */
const mostLevels = 256;

/** Lists and objects of a body, its pairs of names and values, and its values: what checks them takes microseconds each. */
const most = { lists: 10_000, pairs: 100_000, values: 300_000 };

const [quote, comma, colon, backslash] = [34, 44, 58, 92];
const opening: ReadonlySet<number | undefined> = new Set(Buffer.from("{["));
const closing: ReadonlySet<number | undefined> = new Set(Buffer.from("}]"));

/** What of JSON was met so far. */
export class Extent {
  #name = "body";
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

  /**
   * Adds JSON that stands in a text of the body: it is parsed as well.
   *
   * @param name - of such texts
   * @throws Refusal as `add` does, for what was added before and this text together
   */
  addText(text: string, name: string): void {
    this.#name = name;
    this.#depth = 0;
    let isWithin = false;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === quote) isWithin = !isWithin;
      else if (!isWithin) this.add(code);
      else if (code === backslash) at += 1;
    }
  }

  #check(count: number, bound: number, what: string): void {
    if (count > bound)
      throw new Refusal("invalid_request", `${this.#name}: expected at most ${bound} ${what}`);
  }
}
