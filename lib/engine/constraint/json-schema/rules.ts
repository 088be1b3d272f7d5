/** The rules of a grammar in GBNF, as they are gathered. */
import { SeekError } from "../../../base/errors.ts";
import type { Characters } from "../grammar/characters.ts";

/** White space between the parts of JSON: enough for a usual layout, too little for a model to lose itself in. */
const mostSpaces = 14;

/** A JSON schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** What a text matches, in GBNF. */
export function literal(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

/** One of these characters, in GBNF. */
export function characterClass(characters: Characters): string {
  const written = (code: number): string => `\\U${code.toString(16).padStart(8, "0")}`;
  return `[${characters.map(([from, to]) => `${written(from)}-${written(to)}`).join("")}]`;
}

/** @throws ERR_ARGUMENT always, naming the part of the schema */
export function refuse(path: string, what: string): never {
  throw new SeekError("ERR_ARGUMENT", `constraint: ${path}: ${what}`);
}

/** Characters that a grammar may take: a bound on what it costs to write and to read. */
const mostCharacters = 4_000_000;

/** Rules by name. */
export class Rules {
  readonly #bodies = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #made = new Map<string, string>();
  #numCharacters = 0;

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
    this.#numCharacters += name.length + body.length;
    if (this.#numCharacters > mostCharacters)
      throw new SeekError(
        "ERR_ARGUMENT",
        `constraint: its grammar has more than ${mostCharacters} characters; fewer or shorter values`,
      );
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

  /** One of the ways. */
  either(ways: readonly string[]): string {
    const distinct = [...new Set(ways)];
    if (distinct.length === 1) return distinct[0] as string;
    return this.add("choice", distinct.map((way) => (way === "" ? '""' : way)).join(" | "));
  }

  /** As often as that. */
  repeat(text: string, least: number, most: number): string {
    if (most === 0 || text === "") return "";
    const one = /^\[[^\]]*\]$/.test(text) ? text : this.add("one", text);
    return most === Number.POSITIVE_INFINITY ? `${one}{${least},}` : `${one}{${least},${most}}`;
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
