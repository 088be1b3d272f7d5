/** Arithmetic from text: numbers, operators, functions and constants, and nothing that could reach the program. */
import { SeekError } from "../../../base/errors.ts";

/** The rest is for people's patience and the stack: no sum that a model writes is longer, or nested deeper. */
const [maxChars, maxDepth] = [1000, 50];

const constants: ReadonlyMap<string, number> = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
]);

const functions: ReadonlyMap<string, (...values: number[]) => number> = new Map(
  Object.entries({
    ...{ abs: Math.abs, sqrt: Math.sqrt, cbrt: Math.cbrt, exp: Math.exp },
    ...{ ln: Math.log, log: Math.log10, log2: Math.log2 },
    ...{ sin: Math.sin, cos: Math.cos, tan: Math.tan, asin: Math.asin, acos: Math.acos, atan: Math.atan },
    ...{ floor: Math.floor, ceil: Math.ceil, trunc: Math.trunc, min: Math.min, max: Math.max },
    round: (value: number, digits = 0) => Math.round(value * 10 ** digits) / 10 ** digits,
  }),
);

const symbols: ReadonlyMap<string, string> = new Map([
  ["×", "*"],
  ["÷", "/"],
  ["−", "-"],
  ["**", "^"],
]);

/** The names that an expression may use. */
export const expressionNames: readonly string[] = [...functions.keys(), ...constants.keys()];

/**
 * The value of an arithmetic expression: `+ - * / % ^ !`, parentheses, functions and constants; angles in radians. It is
 * read by a parser of its own, which knows nothing else.
 *
 * @param text - such as `2 * (3 + sqrt(16))`
 * @returns a finite number, with the precision of doubles
 * @throws ERR_ARGUMENT that says what was expected where, or that the value is not finite
 * @example
 * assert.equal(evaluateExpression("-2 ^ 2 + max(1, 3!)"), 2);
 */
export function evaluateExpression(text: string): number {
  if (text.length > maxChars) {
    throw new SeekError("ERR_ARGUMENT", `expected at most ${maxChars} characters, got ${text.length}`);
  }
  const value = new Parser(tokensOf(text)).parse();
  if (Number.isFinite(value)) return value;
  throw new SeekError("ERR_ARGUMENT", `the value of ${text} is not a finite number`);
}

/**
 * A number as people write it: the noise of binary fractions is rounded away, and what is too large to be exact has an
 * exponent.
 *
 * @example
 * assert.equal(formatValue(0.1 + 0.2), "0.3");
 */
export function formatValue(value: number): string {
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return String(Number(value.toPrecision(15)));
  return String(Number(value.toPrecision(15)).toExponential());
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const next = /\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[A-Za-z]\w*|\*\*|[-+*/%^!(),×÷−])/y;
  const end = text.trimEnd().length;
  while (next.lastIndex < end) {
    const { lastIndex } = next;
    const [, token] = next.exec(text) ?? [];
    if (token === undefined) {
      const found = text.slice(lastIndex).trim().slice(0, 20);
      throw new SeekError("ERR_ARGUMENT", `expected a number, an operator or a function, got "${found}"`);
    }
    tokens.push(symbols.get(token) ?? token);
  }
  return tokens;
}

/** Recursive descent, lowest precedence first. */
class Parser {
  readonly #tokens: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  parse(): number {
    const value = this.#sum();
    if (this.#at < this.#tokens.length) throw this.#expected("an operator");
    return value;
  }

  #sum(): number {
    let value = this.#product();
    for (;;) {
      if (this.#take("+")) value += this.#product();
      else if (this.#take("-")) value -= this.#product();
      else return value;
    }
  }

  #product(): number {
    let value = this.#signed();
    for (;;) {
      if (this.#take("*")) value *= this.#signed();
      else if (this.#take("/")) value /= this.#signed();
      else if (this.#take("%")) value %= this.#signed();
      else return value;
    }
  }

  // A sign binds less than a power, as in mathematics: -2 ^ 2 is -4. Signs and powers nest, so depth is counted here.
  #signed(): number {
    this.#depth += 1;
    if (this.#depth > maxDepth) {
      throw new SeekError("ERR_ARGUMENT", `expected at most ${maxDepth} levels of nesting, got more`);
    }
    const value = this.#take("-") ? -this.#signed() : this.#take("+") ? this.#signed() : this.#power();
    this.#depth -= 1;
    return value;
  }

  #power(): number {
    let base = this.#operand();
    while (this.#take("!")) base = factorial(base);
    return this.#take("^") ? base ** this.#signed() : base;
  }

  #operand(): number {
    if (this.#take("(")) {
      const value = this.#sum();
      if (!this.#take(")")) throw this.#expected('")"');
      return value;
    }
    const token = this.#tokens[this.#at] ?? "";
    if (/^[\d.]/.test(token)) {
      this.#at += 1;
      return Number(token);
    }
    if (/^[A-Za-z]/.test(token)) return this.#named(token);
    throw this.#expected("a number");
  }

  #named(name: string): number {
    const constant = constants.get(name);
    const call = functions.get(name);
    if (constant === undefined && call === undefined) {
      throw this.#expected(`one of ${expressionNames.join(", ")}`);
    }
    this.#at += 1;
    if (call === undefined) return constant ?? 0;
    if (!this.#take("(")) throw this.#expected(`"(" behind ${name}`);
    const values = [this.#sum()];
    while (this.#take(",")) values.push(this.#sum());
    if (!this.#take(")")) throw this.#expected('")"');
    return call(...values);
  }

  #take(sign: string): boolean {
    if (this.#tokens[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #expected(what: string): SeekError {
    const found = this.#tokens[this.#at];
    return new SeekError(
      "ERR_ARGUMENT",
      `expected ${what}, got ${found === undefined ? "the end" : `"${found}"`}`,
    );
  }
}

function factorial(value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > 170) {
    throw new SeekError("ERR_ARGUMENT", `expected a factorial of 0 to 170, got one of ${value}`);
  }
  let product = 1;
  for (let i = 2; i <= value; i += 1) product *= i;
  return product;
}
