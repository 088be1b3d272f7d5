/** Regular expressions (ECMA-262) as grammars of the strings that they match. */
import { type Characters, charactersOf, shared, without } from "../grammar/characters.ts";
import type { Rules } from "./rules.ts";

/** A grammar, and how many characters its strings have. */
export interface Piece {
  readonly text: string;
  readonly least: number;
  readonly most: number;
}

/** How characters are written: as they are, or as JSON has them. @returns GBNF; undefined where it has none of them */
type Writer = (characters: Characters) => string | undefined;

const named = (chars: string): Characters =>
  charactersOf(
    Array.from(chars, (char) => [char.codePointAt(0) as number, char.codePointAt(0) as number] as const),
  );
const digitCharacters = named("0123456789");
const wordCharacters = charactersOf([...digitCharacters, [65, 90], [95, 95], [97, 122]]);
const spaceCharacters = charactersOf([
  ...named("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"),
  [0x2000, 0x200a],
]);
const lineEnds = named("\n\r\u2028\u2029");
const classes: Readonly<Record<string, Characters>> = {
  ...{ d: digitCharacters, w: wordCharacters, s: spaceCharacters },
  ...{ D: without(digitCharacters), W: without(wordCharacters), S: without(spaceCharacters) },
};
const controls: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", v: "\v", f: "\f", 0: "\0" };
const surrogates: Characters = [[0xd800, 0xdfff]];

const nothing: Piece = { text: "", least: 0, most: 0 };

/** Groups within each other. */
const mostGroups = 100;

/** Reads one expression. */
export class Pattern {
  readonly #chars: readonly string[];
  readonly #rules: Rules;
  readonly #write: Writer;
  readonly #refuse: (what: string) => never;
  #at = 0;
  #numGroups = 0;

  /** `refuse` says what in the expression cannot be held to. */
  constructor(
    source: string,
    { rules, write, refuse }: { rules: Rules; write: Writer; refuse: (what: string) => never },
  ) {
    this.#chars = Array.from(source);
    this.#rules = rules;
    this.#write = write;
    this.#refuse = refuse;
  }

  /** The strings in which the expression matches somewhere; `any` are any characters. Without these, those that it matches as a whole. */
  strings(any?: string): Piece {
    const anything = any === undefined ? nothing : { text: any, least: 0, most: Number.POSITIVE_INFINITY };
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
    if (char === ".") return this.#piece(without(lineEnds));
    if (char === "\\") return this.#piece(this.#escape());
    if ("^*+?{".includes(char)) this.#refuse(`"${char}" at ${at}`);
    return this.#piece(named(char));
  }

  #group(): Piece {
    this.#numGroups += 1;
    if (this.#numGroups > mostGroups) this.#refuse(`more than ${mostGroups} groups within each other`);
    if (this.#eat("?") && !this.#eat(":")) {
      if (!this.#eat("<") || "=!".includes(this.#peek())) this.#refuse("lookaround and modifiers");
      this.#at = this.#chars.indexOf(">", this.#at) + 1;
    }
    const branches = [this.#sequence()];
    while (this.#eat("|")) branches.push(this.#sequence());
    if (!this.#eat(")")) this.#refuse(this.#peek() === "$" ? '"$" within a group' : "an open group");
    this.#numGroups -= 1;
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

  /** After a bracket. */
  #class(): Characters {
    const isExcluding = this.#eat("^");
    const members: (readonly [number, number])[] = [];
    while (!this.#eat("]")) {
      const from = this.#member();
      const hasEnd = this.#peek() === "-" && this.#chars[this.#at + 1] !== "]" && this.#eat("-");
      members.push(...(hasEnd ? this.#range(from, this.#member()) : from));
    }
    const all = charactersOf(members);
    return isExcluding ? without(all) : all;
  }

  #member(): Characters {
    const char = this.#next();
    if (char !== "\\") return named(char);
    return this.#eat("b") ? named("\b") : this.#escape();
  }

  #range(from: Characters, to: Characters): Characters {
    const [[first, firstEnd] = [0, 1], [last, lastEnd] = [0, 1]] = [from[0], to[0]];
    if (first !== firstEnd || last !== lastEnd || first > last) this.#refuse("a range that is none");
    return [[first, last]];
  }

  /** After a backslash. */
  #escape(): Characters {
    const char = this.#next();
    const known = Object.hasOwn(classes, char) ? classes[char] : undefined;
    if (known !== undefined) return known;
    if (Object.hasOwn(controls, char) && !/[0-9]/.test(this.#peek())) return named(controls[char] ?? "");
    if (char === "x" || char === "u") {
      const code = this.#hex(char === "x" ? 2 : 4);
      return [[code, code]];
    }
    if (/[0-9A-Za-z]/.test(char)) this.#refuse(`"\\${char}"`);
    return named(char);
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

  #piece(members: Characters): Piece {
    if (members.length > 0 && members.every(([from, to]) => shared([[from, to]], surrogates).length > 0))
      this.#refuse("half a surrogate pair");
    const text = this.#write(members) ?? this.#refuse("a class of no characters that can be written");
    return { text, least: 1, most: 1 };
  }
}

function joined(pieces: readonly Piece[]): Piece {
  const text = pieces.map((piece) => piece.text).filter((each) => each !== "");
  const sum = (key: "least" | "most"): number => pieces.reduce((total, piece) => total + piece[key], 0);
  return { text: text.join(" "), least: sum("least"), most: sum("most") };
}
