/** The rules of a grammar in GBNF, as they are gathered. */
import { SeekError } from "../../../base/errors.ts";

/** White space between the parts of JSON: enough for a usual layout, too little for a model to lose itself in. */
const mostSpaces = 14;

/** A JSON schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** What a text matches, in GBNF. */
export function literal(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

/** One of these ASCII characters, in GBNF. @param codes - rising */
export function characterClass(codes: readonly number[]): string {
  const ends: [number, number][] = [];
  for (const code of codes) {
    const last = ends.at(-1);
    if (last?.[1] === code - 1) last[1] = code;
    else ends.push([code, code]);
  }
  const written = (code: number): string => `\\u${code.toString(16).padStart(4, "0")}`;
  return `[${ends.map(([from, to]) => `${written(from)}-${written(to)}`).join("")}]`;
}

/** @throws ERR_ARGUMENT always, naming the part of the schema */
export function refuse(path: string, what: string): never {
  throw new SeekError("ERR_ARGUMENT", `constraint: ${path}: ${what}`);
}

/** From this count on xgrammar counts instead of writing a repetition out. */
const numCounted = 15;

/**
 * Rules by name.
 *
 * No two ways of one rule begin alike: where they do, xgrammar 0.1.27 may merge states that differ (its issue 618) and take texts
 * that the grammar does not. {@link Rules.either} and {@link Rules.repeat} write rules of that kind.
 */
export class Rules {
  readonly #bodies = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #made = new Map<string, string>();

  /** A rule of that body; equal bodies are one rule. */
  add(hint: string, body: string): string {
    const known = this.#names.get(body);
    if (known !== undefined) return known;
    const name = this.reserve(hint);
    this.define(name, body);
    return name;
  }

  /** A name whose body follows, so that the body can use it. */
  reserve(hint: string): string {
    const name = `${hint}-${this.#bodies.size}`;
    this.#bodies.set(name, "");
    return name;
  }

  define(name: string, body: string): void {
    this.#bodies.set(name, body);
    this.#names.set(body, name);
  }

  /** The one rule of that name, whose body may use it. */
  once(hint: string, body: (name: string) => string): string {
    const known = this.#made.get(hint);
    if (known !== undefined) return known;
    const name = this.reserve(hint);
    this.#made.set(hint, name);
    this.define(name, body(name));
    return name;
  }

  /** One of the ways. Each is a rule that is not inlined, as it uses another. */
  either(ways: readonly string[]): string {
    const distinct = [...new Set(ways)];
    if (distinct.length === 1) return distinct[0] as string;
    const nothing = this.add("nothing", '""');
    const names = distinct.map((way) => (way === "" ? '""' : this.add("way", `${way} ${nothing}`)));
    return this.add("choice", names.join(" | "));
  }

  /** As often as that. */
  repeat(text: string, least: number, most: number): string {
    if (most === 0 || text === "") return "";
    const isClass = /^\[[^\]]*\]$/.test(text);
    const one = isClass ? text : this.add("one", text);
    if (most === Number.POSITIVE_INFINITY) return `${least === 0 ? "" : `${one}{${least}}`} ${one}*`;
    if (least === most || least >= numCounted) return `${one}{${least},${most}}`;
    if (most >= numCounted)
      return this.either([this.repeat(text, least, numCounted - 1), `${one}{${numCounted},${most}}`]);
    let rest = "";
    for (let i = least; i < most; i++) rest = `(${one} ${rest})?`;
    return `${`${one} `.repeat(least)}${rest}`;
  }

  get space(): string {
    return this.add("space", this.repeat("[ \\n\\t]", 0, mostSpaces));
  }

  get colon(): string {
    return this.add("colon", `${this.space} ":" ${this.space}`);
  }

  get comma(): string {
    return this.add("comma", `${this.space} "," ${this.space}`);
  }

  /** The grammar whose whole text is that of a rule. */
  grammar(name: string): string {
    return [["root", name], ...this.#bodies].map(([each, body]) => `${each} ::= ${body}\n`).join("");
  }
}
