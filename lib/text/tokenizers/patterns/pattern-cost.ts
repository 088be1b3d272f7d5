/** How much a backtracking engine may have to try for a regular expression: refuses what can take exponential time. */

/** What can be tried at one place: ways of bounded number, times the text's length to the power of `numUnbounded`. */
interface Cost {
  readonly numWays: number;
  readonly numUnbounded: number;
}

const noCost: Cost = { numWays: 1, numUnbounded: 0 };

/** The patterns of known tokenizers stay below 32 ways and 2 unbounded repetitions. */
const maxWays = 2000;
const maxUnbounded = 3;
/** A repetition with more counts than this is as good as unbounded. */
const maxCounts = 16;
const maxDepth = 100;

const quantifier = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;
const atom =
  /\\[pPu]\{[^}]*\}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\c[A-Za-z]|\\.|\[(?:\\.|[^\]\\])*\]|[^()|[\\]/suy;
const groupStart = /\((?:\?(?:[:=!]|<[=!]|<\w+>))?/y;

class CostReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): void {
    this.#alternatives(0);
    if (this.#at < this.#source.length) throw new SyntaxError(`a bracket too many at ${this.#at}`);
  }

  #take(shape: RegExp): RegExpExecArray | null {
    shape.lastIndex = this.#at;
    const found = shape.exec(this.#source);
    if (found !== null) this.#at = shape.lastIndex;
    return found;
  }

  #alternatives(depth: number): Cost {
    if (depth > maxDepth) throw new SyntaxError(`groups deeper than ${maxDepth}`);
    let sum = this.#sequence(depth);
    while (this.#source[this.#at] === "|") {
      this.#at += 1;
      const next = this.#sequence(depth);
      const numUnbounded = Math.max(sum.numUnbounded, next.numUnbounded);
      sum = checked({ numWays: sum.numWays + next.numWays, numUnbounded });
    }
    return sum;
  }

  #sequence(depth: number): Cost {
    let cost = noCost;
    while (
      this.#at < this.#source.length &&
      this.#source[this.#at] !== "|" &&
      this.#source[this.#at] !== ")"
    ) {
      const part = this.#repeated(depth);
      cost = checked({
        numWays: cost.numWays * part.numWays,
        numUnbounded: cost.numUnbounded + part.numUnbounded,
      });
    }
    return cost;
  }

  #repeated(depth: number): Cost {
    const one = this.#source[this.#at] === "(" ? this.#group(depth) : this.#single();
    const found = this.#take(quantifier);
    if (found === null) return one;
    const [, sign, low, comma, high] = found;
    const min = sign === undefined ? Number(low) : sign === "+" ? 1 : 0;
    const max = sign === "?" ? 1 : sign !== undefined || (comma && !high) ? Infinity : Number(high || low);
    if (max <= 1) return checked({ ...one, numWays: one.numWays + 1 - min });
    if (one.numUnbounded > 0 || one.numWays > 1)
      throw new SyntaxError("a repetition of what can match in several ways");
    if (max === min) return one;
    return max - min > maxCounts
      ? { numWays: 1, numUnbounded: 1 }
      : { numWays: max - min + 1, numUnbounded: 0 };
  }

  /** A look at what stands around is tried once and not again. */
  #group(depth: number): Cost {
    const start = this.#take(groupStart)?.[0] ?? "";
    const inside = this.#alternatives(depth + 1);
    if (this.#source[this.#at] !== ")") throw new SyntaxError("a group that does not end");
    this.#at += 1;
    return /^\(\?<?[=!]/.test(start) ? noCost : inside;
  }

  #single(): Cost {
    if (this.#take(atom) === null) throw new SyntaxError(`nothing known at ${this.#at}`);
    return noCost;
  }
}

function checked(cost: Cost): Cost {
  if (cost.numWays > maxWays) throw new SyntaxError(`more than ${maxWays} ways to match at one place`);
  if (cost.numUnbounded > maxUnbounded)
    throw new SyntaxError(`more than ${maxUnbounded} repetitions without end in a row`);
  return cost;
}

/**
 * Checks the source of a JavaScript regular expression.
 *
 * @throws SyntaxError naming what could make it take exponential time, or what is not known
 */
export function checkCost(source: string): void {
  new CostReader(source).read();
}
