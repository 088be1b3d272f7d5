/** Regular expressions as Python's `re` reads them: accepted answers that are patterns, and modules' names. */
import { SeekError } from "../../base/errors.ts";

const wordSet = "\\p{L}\\p{N}_";
const spaceSet = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const boundary = `(?:(?<=[${wordSet}])(?![${wordSet}])|(?<![${wordSet}])(?=[${wordSet}]))`;

/** Escapes that Python and JavaScript read differently, outside and inside of a class. */
const escapes: Readonly<Record<string, readonly [outside: string, inside?: string]>> = {
  d: ["\\p{Nd}", "\\p{Nd}"],
  D: ["\\P{Nd}", "\\P{Nd}"],
  w: [`[${wordSet}]`, wordSet],
  W: [`[^${wordSet}]`, `[^${wordSet}]`],
  s: [`[${spaceSet}]`, spaceSet],
  S: [`[^${spaceSet}]`, `[^${spaceSet}]`],
  b: [boundary, "\\x08"],
  B: [`(?!${boundary})`],
  A: ["^"],
  Z: ["$"],
  a: ["\\x07", "\\x07"],
};

/** What may follow a backslash in both languages. */
const sharedEscape = /[nrtfv0-9]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}/y;
const quantifier = /\{(\d*)(,?)(\d*)\}/y;
const flags = /\(\?[aiLmsux]+\)/y;
const comment = /\(\?#[^)]*\)/y;

/**
 * A pattern of Python's `re`: letters, digits, white space and word boundaries of every script.
 *
 * @param pattern - in Python's syntax
 * @param options - `ignoresCase`: with IGNORECASE, `@default` true; `from`: names the pattern in messages, `@default` accepted answer
 * @returns the same for JavaScript, to be used with `test`
 * @throws ERR_FORMAT when it is no pattern, or one with flags other than i and u or with what JavaScript cannot do
 * @example
 * assert.ok(pythonPattern("caf\\w").test("CAFÉ"));
 */
export function pythonPattern(
  pattern: string,
  {
    ignoresCase = true,
    from = "accepted answer",
  }: { readonly ignoresCase?: boolean; readonly from?: string } = {},
): RegExp {
  try {
    const translation = new Translation(pattern);
    const source = translation.source();
    return new RegExp(source, ignoresCase || translation.ignoresCase ? "iv" : "v");
  } catch (cause) {
    const message = `${from}: expected a regular expression, got ${JSON.stringify(pattern)}`;
    throw new SeekError("ERR_FORMAT", message, { cause });
  }
}

class Translation {
  readonly #pattern: string;
  #at = 0;
  /** Whether the pattern itself says so. */
  ignoresCase = false;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  source(): string {
    let source = "";
    while (this.#at < this.#pattern.length) source += this.#next();
    return source;
  }

  #next(): string {
    const char = this.#take();
    if (char === "\\") return this.#escape(0);
    if (char === "[") return this.#set();
    if (char === "(") return this.#group();
    if (char === "{") return this.#brace();
    // In Python it also stands before a newline at the end.
    if (char === "$") return "(?=\\n?$)";
    return char === "}" || char === "]" ? `\\${char}` : char;
  }

  #take(): string {
    const char = String.fromCodePoint(this.#pattern.codePointAt(this.#at) ?? 0);
    this.#at += char.length;
    return char;
  }

  /** Reads what stands here if it looks so, `back` characters before included. */
  #match(shape: RegExp, back = 0): RegExpExecArray | null {
    shape.lastIndex = this.#at - back;
    const found = shape.exec(this.#pattern);
    if (found !== null) this.#at = shape.lastIndex;
    return found;
  }

  #escape(place: 0 | 1): string {
    if (this.#at === this.#pattern.length) throw new SyntaxError("a backslash ends the pattern");
    const shared = this.#match(sharedEscape);
    if (shared !== null) return `\\${shared[0]}`;
    const char = this.#take();
    const known = Object.hasOwn(escapes, char) ? escapes[char]?.[place] : undefined;
    if (known !== undefined) return known;
    // Python refuses unknown escapes of letters; others stand for themselves.
    if (/[A-Za-z]/.test(char)) throw new SyntaxError(`unknown escape \\${char}`);
    return literal(char);
  }

  #group(): string {
    const given = this.#match(flags, 1);
    if (given !== null && /[aLmsx]/.test(given[0])) throw new SyntaxError(`flags ${given[0]}`);
    this.ignoresCase ||= given?.[0].includes("i") === true;
    if (given !== null || this.#match(comment, 1) !== null) return "";
    if (this.#match(/\?P</y) !== null) return "(?<";
    const reference = this.#match(/\?P=(\w+)\)/y);
    return reference === null ? "(" : `\\k<${reference[1]}>`;
  }

  /** `{,3}` has no lower bound in Python; what is no quantifier stands for itself. */
  #brace(): string {
    const [all, low = "", comma, high = ""] = this.#match(quantifier, 1) ?? [];
    if (all === undefined || (low === "" && high === "")) {
      if (all !== undefined) this.#at -= all.length - 1;
      return "\\{";
    }
    return comma === "" ? `{${low}}` : `{${low || 0},${high}}`;
  }

  #set(): string {
    let source = "[";
    if (this.#pattern[this.#at] === "^") source += this.#take();
    const first = this.#at;
    while (this.#at < this.#pattern.length) {
      const char = this.#take();
      if (char === "]" && this.#at - 1 > first) return `${source}]`;
      if (char === "\\") source += this.#escape(1);
      else if (char === "-" && this.#at - 1 > first && this.#pattern[this.#at] !== "]") source += "-";
      else source += literal(char);
    }
    throw new SyntaxError("a set that does not end");
  }
}

function literal(char: string): string {
  return /[!-/:-@[-`{-~]/.test(char) ? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}` : char;
}
