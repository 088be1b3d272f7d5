/** Which bytes may follow in a text of a grammar: states that are made when a text first comes to them. */
import { SeekError } from "../../../base/errors.ts";
import type { Expression, Repeat, Text } from "./expression.ts";

/** An expression to be matched, and what has to be matched after it: nothing at the end of the grammar. */
interface Term {
  readonly id: number;
  readonly head: Expression;
  readonly rest: Term | undefined;
}

/** Where a text may stand in a grammar. */
export class State {
  /** What may come next; each begins with a byte. */
  readonly terms: readonly Term[];
  /** Whether the text may end here. */
  readonly isWhole: boolean;
  /** The states by the next byte, of one generation of states; where one byte alone may follow, that one and its state. */
  moves: readonly (State | undefined)[] = [];
  byte = -1;
  after: State | undefined;
  generation = -1;
  /** The tokens that may be next, once they were asked for; i32 [V / 32]. */
  mask: Int32Array | undefined;

  constructor(terms: readonly Term[], isWhole: boolean) {
    this.terms = terms;
    this.isWhole = isWhole;
  }
}

/** Steps that one question may take: some tenths of a second. */
const mostSteps = 4_000_000;

/** Ways to go on from one place. */
const mostWays = 50_000;

/** Terms, states and, each for ten, the moves of one that are kept; beyond it all but those in use are made again. */
const mostKept = 50_000;
const costOfMoves = 10;

/** Follows texts of one grammar. */
export class Automaton {
  readonly start: State;
  readonly #terms = new Map<Term | undefined, Map<Expression, Term>>();
  readonly #states = new Map<string, State>();
  /** Terms with shorter repetitions. */
  readonly #cuts = new Map<Term, Term>();
  readonly #cutRepeats = new Map<Expression, Map<string, Repeat>>();
  #generation = 0;
  #numTerms = 0;
  #numKept = 0;
  #numSteps = 0;

  /** @throws ERR_ARGUMENT for a grammar whose rules begin with themselves */
  constructor(root: Expression) {
    this.start = this.#state([this.#term(root, undefined)]);
  }

  /** Begins a question, whose steps are counted. */
  begin(): void {
    this.#numSteps = 0;
    if (this.#numKept <= mostKept) return;
    this.#terms.clear();
    this.#states.clear();
    this.#cuts.clear();
    this.#numKept = 0;
    this.#generation += 1;
  }

  /** The state after a byte; undefined where it cannot follow. */
  next(state: State, byte: number): State | undefined {
    if (state.generation !== this.#generation) this.#move(state);
    if (state.byte < 0) return state.moves[byte];
    return state.byte === byte ? state.after : undefined;
  }

  #move(state: State): void {
    const [only, another] = state.terms;
    if (only?.head.kind === "text" && another === undefined) {
      state.byte = only.head.bytes[only.head.at] as number;
      state.after = this.#state([this.#after(only.head, only.rest)]);
    } else {
      state.moves = this.#statesAfter(state.terms);
      this.#numKept += costOfMoves;
    }
    state.generation = this.#generation;
  }

  #statesAfter(terms: readonly Term[]): (State | undefined)[] {
    const starts = startsOf(terms);
    const next = starts.map((): (Term | undefined)[] => []);
    const places = new Map(starts.map((byte, i) => [byte, i]));
    for (const { head, rest } of terms) {
      const { from, to } = rangeOf(head);
      const after = head.kind === "text" ? this.#after(head, rest) : rest;
      for (let i = places.get(from) as number; i < starts.length && (starts[i] as number) <= to; i++) {
        this.#count(1);
        next[i]?.push(after);
      }
    }
    const moves = new Array<State | undefined>(256).fill(undefined);
    next.forEach((after, i) => {
      if (after.length > 0) moves.fill(this.#state(after), starts[i], starts[i + 1]);
    });
    return moves;
  }

  #after(head: Text, rest: Term | undefined): Term | undefined {
    if (head.at + 1 === head.bytes.length) return rest;
    head.tail ??= { kind: "text", bytes: head.bytes, at: head.at + 1 };
    return this.#term(head.tail, rest);
  }

  /**
   * A state from which as many bytes can follow as from another one, up to a length: long repetitions are cut there, so that the
   * places in them are few.
   */
  nearby(state: State, length: number): State {
    const terms = state.terms.map((term) => this.#cut(term, length));
    return terms.every((term, i) => term === state.terms[i])
      ? state
      : this.#state([...terms, ...(state.isWhole ? [undefined] : [])]);
  }

  #cut(term: Term, length: number): Term {
    const chain: Term[] = [];
    let cut: Term | undefined;
    for (let each: Term | undefined = term; each !== undefined; each = each.rest) {
      cut = this.#cuts.get(each);
      if (cut !== undefined) break;
      chain.push(each);
    }
    for (const each of chain.reverse()) {
      cut = this.#term(each.head.kind === "repeat" ? this.#cutRepeat(each.head, length + 1) : each.head, cut);
      this.#cuts.set(each, cut);
    }
    return cut as Term;
  }

  #cutRepeat(head: Repeat, length: number): Repeat {
    const isOpen = head.most === Number.POSITIVE_INFINITY;
    const [least, most] = [Math.min(head.least, length), isOpen ? head.most : Math.min(head.most, length)];
    if (least === head.least && most === head.most) return head;
    const known = this.#cutRepeats.get(head.item) ?? new Map<string, Repeat>();
    this.#cutRepeats.set(head.item, known);
    const cut = known.get(`${least},${most}`) ?? { kind: "repeat", item: head.item, least, most };
    known.set(`${least},${most}`, cut);
    return cut;
  }

  #term(head: Expression, rest: Term | undefined): Term {
    const heads = this.#terms.get(rest) ?? new Map<Expression, Term>();
    if (heads.size === 0) this.#terms.set(rest, heads);
    const known = heads.get(head);
    if (known !== undefined) return known;
    const term = { id: this.#numTerms++, head, rest };
    heads.set(head, term);
    this.#numKept += 1;
    return term;
  }

  #state(from: readonly (Term | undefined)[]): State {
    const seen = new Set(from);
    const terms: Term[] = [];
    // A set is walked to what is added to it meanwhile.
    for (const term of seen) {
      this.#count(seen.size > mostWays ? mostSteps : 1);
      if (term === undefined) continue;
      if (term.head.kind === "bytes" || term.head.kind === "text") terms.push(term);
      else for (const next of this.#within(term.head, term.rest)) seen.add(next);
    }
    terms.sort((a, b) => a.id - b.id);
    const isWhole = seen.has(undefined);
    const key = `${terms.map(({ id }) => id).join()}${isWhole ? "." : ""}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    const state = new State(terms, isWhole);
    this.#states.set(key, state);
    this.#numKept += 1;
    return state;
  }

  /** What an expression without a byte of its own stands for. */
  #within(
    head: Exclude<Expression, { readonly kind: "bytes" | "text" }>,
    rest: Term | undefined,
  ): (Term | undefined)[] {
    if (head.kind === "rule") return [this.#term(head.body, rest)];
    if (head.kind === "choice") return head.ways.map((way) => this.#term(way, rest));
    if (head.kind === "sequence")
      return [head.parts.reduceRight<Term | undefined>((after, part) => this.#term(part, after), rest)];
    const skipped = head.least === 0 ? [rest] : [];
    if (head.most === 0) return skipped;
    return [...skipped, this.#term(head.item, head.most === 1 ? rest : this.#term(fewer(head), rest))];
  }

  #count(numSteps: number): void {
    this.#numSteps += 1 + numSteps;
    if (this.#numSteps <= mostSteps) return;
    const remedy = "fewer repetitions within each other, and no rule that begins with itself";
    throw new SeekError("ERR_ARGUMENT", `constraint: too many ways to go on at once; ${remedy}`);
  }
}

/** The bytes that an expression begins with. */
function rangeOf(head: Expression): { readonly from: number; readonly to: number } {
  if (head.kind === "bytes") return head;
  const byte = (head as Text).bytes[(head as Text).at] as number;
  return { from: byte, to: byte };
}

/** Where what may follow changes: bytes, rising. */
function startsOf(terms: readonly Term[]): number[] {
  const starts = new Set<number>();
  for (const { head } of terms) {
    const { from, to } = rangeOf(head);
    starts.add(from);
    if (to < 255) starts.add(to + 1);
  }
  return [...starts].sort((a, b) => a - b);
}

/** What is left of a repetition after one of its items. */
function fewer(head: Repeat): Repeat {
  const least = Math.max(0, head.least - 1);
  if (head.most === Number.POSITIVE_INFINITY && least === head.least) return head;
  head.fewer ??= { kind: "repeat", item: head.item, least, most: head.most - 1 };
  return head.fewer;
}
