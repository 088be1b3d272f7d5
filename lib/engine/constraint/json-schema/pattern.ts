/**
 * Expressions of JSON schemas (ECMA-262) as grammars of the JSON strings that they match.
 *
 * What a class excludes, and a dot, stands for ASCII characters alone: xgrammar tells no others apart by range. A character
 * that the expression names may be any.
 */
import { characterClass, literal, type Rules } from "./rules.ts";

/** A grammar, and how many characters its strings have. */
export interface Piece {
  readonly text: string;
  readonly least: number;
  readonly most: number;
}

type Characters = ReadonlySet<number>;

const numAscii = 128;
const mostNamed = 1024;

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
const codes = (text: string): number[] => Array.from(text, (char) => char.codePointAt(0) as number);
const without = (excluded: Characters): Characters =>
  new Set(range(0, numAscii - 1).filter((code) => !excluded.has(code)));

const digitCodes: Characters = new Set(codes("0123456789"));
const wordCodes: Characters = new Set([...digitCodes, 95, ...range(65, 90), ...range(97, 122)]);
const spaceCodes: Characters = new Set(codes("\t\n\v\f\r "));
const classes: Readonly<Record<string, Characters>> = {
  ...{ d: digitCodes, w: wordCodes, s: spaceCodes },
  ...{ D: without(digitCodes), W: without(wordCodes), S: without(spaceCodes) },
};
const controls: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", v: "\v", f: "\f", 0: "\0" };

const nothing: Piece = { text: "", least: 0, most: 0 };

/** Reads one expression. */
export class Pattern {
  readonly #chars: readonly string[];
  readonly #rules: Rules;
  readonly #refuse: (what: string) => never;
  #at = 0;

  /** `refuse` says what in the expression cannot be held to. */
  constructor(source: string, rules: Rules, refuse: (what: string) => never) {
    this.#chars = Array.from(source);
    this.#rules = rules;
    this.#refuse = refuse;
  }

  /** The strings in which the expression matches somewhere; `any` are any characters. */
  strings(any: string): Piece {
    const anything: Piece = { text: any, least: 0, most: Number.POSITIVE_INFINITY };
    const branches: Piece[] = [];
    do {
      const before = this.#eat("^") ? nothing : anything;
      const inside = this.#sequence();
      const behind = this.#eat("$") ? nothing : anything;
      branches.push(joined([before, inside, behind]));
    } while (this.#eat("|"));
    if (this.#at < this.#chars.length) this.#refuse(`"${this.#peek()}" at ${this.#at}`);
    return this.#either(branches);
  }

  #peek(): string {
    return this.#chars[this.#at] ?? "";
  }

  #eat(text: string): boolean {
    const isNext = this.#chars.slice(this.#at, this.#at + text.length).join("") === text;
    if (isNext) this.#at += text.length;
    return isNext;
  }

  #next(): string {
    if (this.#at >= this.#chars.length) this.#refuse("an end within a group, a class or an escape");
    return this.#chars[this.#at++] as string;
  }

  #sequence(): Piece {
    const pieces: Piece[] = [];
    while (this.#at < this.#chars.length && !"|)$".includes(this.#peek()))
      pieces.push(this.#quantified(this.#atom()));
    return joined(pieces);
  }

  #atom(): Piece {
    const at = this.#at;
    const char = this.#next();
    if (char === "(") return this.#group();
    if (char === "[") return this.#piece(this.#class());
    if (char === ".") return this.#piece(without(new Set(codes("\n\r"))));
    if (char === "\\") return this.#piece(this.#escape());
    if ("^*+?{".includes(char)) this.#refuse(`"${char}" at ${at}`);
    return this.#piece(new Set(codes(char)));
  }

  #group(): Piece {
    if (this.#eat("?") && !this.#eat(":")) {
      if (!this.#eat("<") || "=!".includes(this.#peek())) this.#refuse("lookaround and modifiers");
      this.#at = this.#chars.indexOf(">", this.#at) + 1;
    }
    const branches = [this.#sequence()];
    while (this.#eat("|")) branches.push(this.#sequence());
    if (!this.#eat(")")) this.#refuse(this.#peek() === "$" ? '"$" within a group' : "an open group");
    return this.#either(branches);
  }

  #quantified(piece: Piece): Piece {
    const [least, most] = this.#count();
    this.#eat("?");
    if (least === 1 && most === 1) return piece;
    const length = (each: number, count: number): number => (each === 0 || count === 0 ? 0 : each * count);
    const text = this.#rules.repeat(piece.text, least, most);
    return { text, least: length(piece.least, least), most: length(piece.most, most) };
  }

  #count(): readonly [number, number] {
    if (this.#eat("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#eat("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#eat("?")) return [0, 1];
    if (this.#peek() !== "{") return [1, 1];
    const end = this.#chars.indexOf("}", this.#at);
    const text = this.#chars.slice(this.#at, end + 1).join("");
    const [, least, comma, most] = /^\{(\d{1,6})(,(\d{0,6}))?\}$/.exec(text) ?? this.#refuse(`"${text}"`);
    this.#at = end + 1;
    const from = Number(least);
    const to = comma === undefined ? from : most === "" ? Number.POSITIVE_INFINITY : Number(most);
    return to < from ? this.#refuse(`"${text}"`) : [from, to];
  }

  /** Behind a bracket. */
  #class(): Characters {
    const isExcluding = this.#eat("^");
    const members = new Set<number>();
    while (!this.#eat("]")) {
      const from = this.#member();
      const hasEnd = this.#peek() === "-" && this.#chars[this.#at + 1] !== "]" && this.#eat("-");
      for (const code of hasEnd ? this.#range(from, this.#member()) : from) members.add(code);
    }
    return isExcluding ? without(members) : members;
  }

  #member(): Characters {
    const char = this.#next();
    if (char !== "\\") return new Set(codes(char));
    return this.#eat("b") ? new Set([8]) : this.#escape();
  }

  #range(from: Characters, to: Characters): number[] {
    const [[first = 0], [last = 0]] = [from, to];
    const isRange = from.size === 1 && to.size === 1 && first <= last;
    if (!isRange || last - first > mostNamed)
      this.#refuse(`a range that is none, or of more than ${mostNamed} characters`);
    return range(first, last);
  }

  /** Behind a backslash. */
  #escape(): Characters {
    const char = this.#next();
    const known = Object.hasOwn(classes, char) ? classes[char] : undefined;
    if (known !== undefined) return known;
    if (Object.hasOwn(controls, char) && !/[0-9]/.test(this.#peek()))
      return new Set(codes(controls[char] ?? ""));
    if (char === "x" || char === "u") return new Set([this.#hex(char === "x" ? 2 : 4)]);
    if (/[0-9A-Za-z]/.test(char)) this.#refuse(`"\\${char}"`);
    return new Set(codes(char));
  }

  #hex(numDigits: number): number {
    const isBraced = numDigits === 4 && this.#eat("{");
    let digits = "";
    while (isBraced ? !this.#eat("}") : digits.length < numDigits) digits += this.#next();
    const code = /^[0-9a-fA-F]{1,6}$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN;
    return code <= 0x10ffff ? code : this.#refuse(`"${digits}" as the number of a character`);
  }

  #either(branches: readonly Piece[]): Piece {
    return {
      text: this.#rules.either(branches.map(({ text }) => text)),
      least: Math.min(...branches.map(({ least }) => least)),
      most: Math.max(...branches.map(({ most }) => most)),
    };
  }

  /** One of the characters, as JSON writes it; control characters only where it has a short escape. */
  #piece(members: Characters): Piece {
    const [raw, short, ways]: [number[], number[], string[]] = [[], [], []];
    for (const code of [...members].sort((a, b) => a - b)) {
      const char = String.fromCodePoint(code);
      if (!char.isWellFormed()) this.#refuse("half a surrogate pair");
      const written = JSON.stringify(char).slice(1, -1);
      if (written.length === 2 && code < numAscii) short.push(written.charCodeAt(1));
      else if (code >= numAscii) ways.push(literal(char));
      else if (written === char) raw.push(code);
    }
    if (raw.length > 0) ways.push(characterClass(raw));
    if (short.length > 0) ways.push(`"\\\\" ${characterClass(short)}`);
    if (ways.length === 0) this.#refuse("a class of no characters that JSON has a short form of");
    const text = this.#rules.either(ways);
    return { text, least: 1, most: 1 };
  }
}

function joined(pieces: readonly Piece[]): Piece {
  const text = pieces.map((piece) => piece.text).filter((each) => each !== "");
  const sum = (key: "least" | "most"): number => pieces.reduce((total, piece) => total + piece[key], 0);
  return { text: text.join(" "), least: sum("least"), most: sum("most") };
}
