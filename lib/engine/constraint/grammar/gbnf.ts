/** Grammars in GBNF, as llama.cpp and xgrammar write them, as expressions. */
import { SeekError } from "../../../base/errors.ts";
import { bytesOf, type Characters, charactersOf, everyCharacter, without } from "./characters.ts";
import { choice, type Expression, nothing, type Rule, repeat, sequence, text } from "./expression.ts";

/** Groups within each other. */
const mostGroups = 200;

/** Most items that a repetition may name. */
const mostTimes = 1_000_000;

const controls: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  f: "\f",
  b: "\b",
  0: "\0",
};
const digitsOf: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/**
 * Reads a grammar.
 *
 * @param source - its rules; `root` is the whole text
 * @throws ERR_ARGUMENT naming the line and what is wrong there
 */
export function readGrammar(source: string): Expression {
  return new Reader(source).grammar();
}

/** A rule, and whether it was defined. */
interface Named extends Rule {
  isDefined: boolean;
}

class Reader {
  readonly #source: string;
  readonly #rules = new Map<string, Named>();
  readonly #classes = new Map<string, Expression>();
  #at = 0;
  #numGroups = 0;

  constructor(source: string) {
    this.#source = source;
  }

  grammar(): Expression {
    for (this.#skip(); this.#at < this.#source.length; this.#skip()) this.#definition();
    const missing = [...this.#rules].find(([, { isDefined }]) => !isDefined);
    if (missing !== undefined) this.#refuse(`rule "${missing[0]}" is not defined`);
    return this.#rules.get("root") ?? this.#refuse('rule "root" is not defined');
  }

  #definition(): void {
    const name = this.#match(/[A-Za-z_][\w.-]*(?=\s*::=)/y) ?? this.#expected("a rule, `name ::= ...`");
    this.#match(/\s*::=/y);
    const rule = this.#rule(name);
    if (rule.isDefined) this.#refuse(`rule "${name}" is defined twice`);
    rule.isDefined = true;
    rule.body = this.#alternatives();
  }

  #rule(name: string): Named {
    const known = this.#rules.get(name);
    const rule = known ?? { kind: "rule", body: nothing, isDefined: false };
    if (known === undefined) this.#rules.set(name, rule);
    return rule;
  }

  #alternatives(): Expression {
    const ways = [this.#sequence()];
    while (this.#eat("|")) ways.push(this.#sequence());
    return choice(ways);
  }

  #sequence(): Expression {
    const parts: Expression[] = [];
    for (let item = this.#item(); item !== undefined; item = this.#item()) parts.push(this.#repeated(item));
    return sequence(parts);
  }

  /** Undefined where the sequence ends. */
  #item(): Expression | undefined {
    this.#skip();
    const char = this.#source[this.#at];
    if (char === '"') return text(this.#string());
    if (char === "[") return this.#class();
    if (char === "(") return this.#group();
    if (this.#eat(".")) return bytesOf(everyCharacter);
    if (this.#match(/[A-Za-z_][\w.-]*(?=\s*::=)/y, false) !== undefined) return undefined;
    const name = this.#match(/[A-Za-z_][\w.-]*/y);
    if (name !== undefined) return this.#rule(name);
    if (char === undefined || char === "|" || char === ")") return undefined;
    return this.#expected("a text, a class, a group or a rule");
  }

  #group(): Expression {
    this.#at += 1;
    this.#numGroups += 1;
    if (this.#numGroups > mostGroups) this.#expected(`at most ${mostGroups} groups within each other`);
    const inside = this.#alternatives();
    this.#numGroups -= 1;
    return this.#eat(")") ? inside : this.#expected('")"');
  }

  #repeated(item: Expression): Expression {
    const mark = this.#match(/\s*([*+?]|\{\s*\d+\s*(,\s*\d*\s*)?\})/y)?.trim();
    if (mark === undefined) return item;
    if (mark === "*") return this.#repeated(repeat(item, 0, Number.POSITIVE_INFINITY));
    if (mark === "+") return this.#repeated(repeat(item, 1, Number.POSITIVE_INFINITY));
    if (mark === "?") return this.#repeated(repeat(item, 0, 1));
    const [least = "", most = least] = mark
      .slice(1, -1)
      .split(",")
      .map((each) => each.trim());
    const [from, to] = [Number(least), most === "" ? Number.POSITIVE_INFINITY : Number(most)];
    const isOdd = from > to || from > mostTimes || (to > mostTimes && to !== Number.POSITIVE_INFINITY);
    return isOdd ? this.#refuse(`"${mark}" is no repetition`) : this.#repeated(repeat(item, from, to));
  }

  #string(): string {
    this.#at += 1;
    let [read, from] = ["", this.#at];
    for (;;) {
      const char = this.#source[this.#at];
      if (char === undefined || char === "\n") return this.#expected("the end of a text");
      if (char !== '"' && char !== "\\") this.#at += 1;
      else {
        read += this.#source.slice(from, this.#at);
        if (this.#eat('"')) return read;
        read += this.#escaped();
        from = this.#at;
      }
    }
  }

  #escaped(): string {
    const char = this.#source[this.#at + 1] ?? this.#expected("a character after a backslash");
    this.#at += 2;
    const numDigits = digitsOf[char];
    if (numDigits === undefined) return controls[char] ?? char;
    const digits = this.#source.slice(this.#at, this.#at + numDigits);
    const code = /^[0-9a-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN;
    if (digits.length < numDigits || !(code <= 0x10ffff))
      this.#refuse(`"\\${char}${digits}" is no character`);
    this.#at += numDigits;
    return String.fromCodePoint(code);
  }

  #class(): Expression {
    const start = this.#at;
    this.#at += 1;
    const isExcluding = this.#take("^");
    const ranges: [number, number][] = [];
    while (!this.#take("]")) {
      const from = this.#member();
      const hasEnd = this.#source[this.#at] === "-" && this.#source[this.#at + 1] !== "]" && this.#take("-");
      const to = hasEnd ? this.#member() : from;
      if (to < from) this.#refuse("a class has a range that is none");
      ranges.push([from, to]);
    }
    const source = this.#source.slice(start, this.#at);
    const known = this.#classes.get(source) ?? this.#characters(charactersOf(ranges), isExcluding);
    this.#classes.set(source, known);
    return known;
  }

  #characters(named: Characters, isExcluding: boolean): Expression {
    return bytesOf(isExcluding ? without(named) : named);
  }

  #member(): number {
    const char = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? this.#expected('"]"'));
    if (char === "\n") this.#expected('"]"');
    if (char === "\\") return this.#escaped().codePointAt(0) as number;
    this.#at += char.length;
    return char.codePointAt(0) as number;
  }

  /** Spaces, line breaks and comments. */
  #skip(): void {
    this.#match(/(?:\s+|#[^\n]*)+/y);
  }

  /** A sign after spaces. */
  #eat(sign: string): boolean {
    if (this.#source[this.#at] !== sign) this.#skip();
    return this.#take(sign);
  }

  #take(sign: string): boolean {
    const isNext = this.#source[this.#at] === sign;
    if (isNext) this.#at += 1;
    return isNext;
  }

  #match(pattern: RegExp, isTaken = true): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#source) ?? [];
    if (found !== undefined && isTaken) this.#at += found.length;
    return found;
  }

  #expected(what: string): never {
    const got = this.#source.slice(this.#at, this.#at + 20);
    return this.#refuse(`expected ${what}, got ${got === "" ? "the end" : JSON.stringify(got)}`);
  }

  #refuse(what: string): never {
    const line = this.#source.slice(0, this.#at).split("\n").length;
    throw new SeekError("ERR_ARGUMENT", `constraint: grammar, line ${line}: ${what}`);
  }
}
