/** JSON as it comes in, character by character: how much of a text still belongs to one value, and whether it is JSON. */

/** What may come next. */
type Place =
  | "value"
  | "firstItem"
  | "firstKey"
  | "key"
  | "colon"
  | "next"
  | "string"
  | "escape"
  | "hex"
  | "word"
  | "number"
  | "end"
  | "fault";

const shape: Readonly<Record<string, Place>> = { "{": "firstKey", "[": "firstItem", '"': "string" };
const words: Readonly<Record<string, string>> = { t: "rue", f: "alse", n: "ull" };

/** What may follow each part of a number; the parts that a number may end in have a capital. */
const numberParts: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
  minus: [
    [/0/, "Zero"],
    [/[1-9]/, "Digits"],
  ],
  Zero: [
    [/\./, "point"],
    [/[eE]/, "exponent"],
  ],
  Digits: [
    [/\d/, "Digits"],
    [/\./, "point"],
    [/[eE]/, "exponent"],
  ],
  point: [[/\d/, "Fraction"]],
  Fraction: [
    [/\d/, "Fraction"],
    [/[eE]/, "exponent"],
  ],
  exponent: [
    [/[+-]/, "sign"],
    [/\d/, "Power"],
  ],
  sign: [[/\d/, "Power"]],
  Power: [[/\d/, "Power"]],
};

/** Follows one JSON value. Takes time linear in the text and no stack, however deep the value is. */
export class JsonScanner {
  #place: Place = "value";
  /** The open brackets, outermost first. */
  readonly #open: ("{" | "[")[] = [];
  #isKey = false;
  /** What is left of a word such as `true`, or the part of a number. */
  #rest = "";
  #numHex = 0;

  /** Whether the value is whole, or the text was no JSON. */
  get state(): "open" | "end" | "fault" {
    return this.#place === "end" || this.#place === "fault" ? this.#place : "open";
  }

  /**
   * Goes on with a text.
   *
   * @param text - what follows
   * @param from - where in it
   * @returns the place behind the last character that belongs to the value
   */
  scan(text: string, from = 0): number {
    let at = from;
    while (at < text.length && this.state === "open") {
      if (this.#place === "string") at = this.#inString(text, at);
      else if (this.#step(text[at] as string)) at += 1;
    }
    return at;
  }

  #inString(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 34) {
        this.#close(this.#isKey ? "colon" : undefined);
        return at + 1;
      }
      if (code === 92) {
        this.#place = "escape";
        return at + 1;
      }
      if (code < 32) {
        this.#place = "fault";
        return at;
      }
    }
    return text.length;
  }

  /** A value has ended. */
  #close(place: Place = this.#open.length === 0 ? "end" : "next"): void {
    this.#place = place;
    this.#isKey = false;
  }

  /** Whether the character belongs to the value. */
  #step(char: string): boolean {
    if (this.#place === "escape") return this.#afterBackslash(char);
    if (this.#place === "hex") return this.#hexDigit(char);
    if (this.#place === "word") return this.#inWord(char);
    if (this.#place === "number") return this.#inNumber(char);
    if (char === " " || char === "\n" || char === "\t" || char === "\r") return true;
    if (this.#place === "colon") return this.#go(char === ":", "value");
    if (this.#place === "next") return this.#afterValue(char);
    if (this.#place === "firstKey" && char === "}") return this.#endOf("{");
    if (this.#place === "firstItem" && char === "]") return this.#endOf("[");
    if (this.#place === "key" || this.#place === "firstKey") {
      this.#isKey = true;
      return this.#go(char === '"', "string");
    }
    return this.#beginsValue(char);
  }

  #go(isRight: boolean, next: Place): boolean {
    this.#place = isRight ? next : "fault";
    return isRight;
  }

  #afterBackslash(char: string): boolean {
    this.#numHex = 0;
    return this.#go('"\\/bfnrtu'.includes(char), char === "u" ? "hex" : "string");
  }

  #hexDigit(char: string): boolean {
    this.#numHex += 1;
    return this.#go(/[\da-fA-F]/.test(char), this.#numHex === 4 ? "string" : "hex");
  }

  #inWord(char: string): boolean {
    const isRight = this.#rest[0] === char;
    this.#rest = this.#rest.slice(1);
    if (isRight && this.#rest === "") this.#close();
    else this.#go(isRight, "word");
    return isRight;
  }

  #inNumber(char: string): boolean {
    const next = numberParts[this.#rest]?.find(([chars]) => chars.test(char));
    if (next !== undefined) {
      this.#rest = next[1];
      return true;
    }
    if (/^[A-Z]/.test(this.#rest)) this.#close();
    else this.#place = "fault";
    return false;
  }

  #afterValue(char: string): boolean {
    const open = this.#open.at(-1);
    if (char === "," && open !== undefined) return this.#go(true, open === "{" ? "key" : "value");
    if (char === "}") return this.#endOf("{");
    return char === "]" ? this.#endOf("[") : this.#go(false, "fault");
  }

  #endOf(bracket: "{" | "["): boolean {
    if (this.#open.at(-1) !== bracket) return this.#go(false, "fault");
    this.#open.pop();
    this.#close();
    return true;
  }

  #beginsValue(char: string): boolean {
    if (char === "{" || char === "[") this.#open.push(char);
    const place = shape[char];
    if (place !== undefined) return this.#go(true, place);
    this.#rest = words[char] ?? "";
    if (this.#rest !== "") return this.#go(true, "word");
    this.#rest = "minus";
    this.#place = "number";
    return char === "-" || this.#inNumber(char);
  }
}
