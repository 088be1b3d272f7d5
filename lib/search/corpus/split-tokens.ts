/** Cuts one text into pieces by the tokens of a model, between words. */
import type { Tokenizer } from "../../text/tokenizers/tokenizer.ts";
import { type PieceSize, placedWords } from "./split-text.ts";

/** A word, or a part of one that is too long, with the blanks before it. */
interface Unit {
  readonly start: number;
  readonly end: number;
  /** Tokens that it adds to a piece, and that it has at the beginning of one. */
  readonly numInside: number;
  readonly numFirst: number;
}

const maxCounts = 200_000;

/** Counts the tokens of words; most words of a corpus are among a few thousand, so counts are kept. */
class TokenCounter {
  readonly #tokenizer: Tokenizer;
  readonly #counts = new Map<string, number>();

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  /** At the beginning of a text. */
  first(text: string): number {
    const known = this.#counts.get(text);
    if (known !== undefined) return known;
    if (this.#counts.size === maxCounts) this.#counts.clear();
    const count = this.#tokenizer.encode(text, { parseSpecialTokens: false }).length;
    this.#counts.set(text, count);
    return count;
  }

  /** After another word, whose last letter some tokenizers look at; `text` begins with the blanks between. */
  inside(text: string): number {
    return this.first(`a${text}`) - this.first("a");
  }
}

/** Where a string can be cut in the middle without cutting a character. */
function middleOf(text: string): number {
  const middle = text.length >> 1;
  const isLow = (text.charCodeAt(middle) & 0xfc00) === 0xdc00;
  return isLow ? middle + 1 : middle;
}

/** A word as units of at most `most` tokens each; a single character is not cut, however many it has. */
function* unitsOf(
  text: string,
  start: number,
  blank: string,
  counter: TokenCounter,
  most: number,
): Generator<Unit> {
  const numFirst = counter.first(text);
  const middle = middleOf(text);
  if (numFirst <= most || middle >= text.length) {
    yield { start, end: start + text.length, numFirst, numInside: counter.inside(blank + text) };
    return;
  }
  yield* unitsOf(text.slice(0, middle), start, blank, counter, most);
  yield* unitsOf(text.slice(middle), start + middle, "", counter, most);
}

function allUnits(text: string, counter: TokenCounter, size: number): Unit[] {
  const units: Unit[] = [];
  let end = 0;
  for (const word of placedWords(text)) {
    const blank = text.slice(end, word.start);
    end = word.start + word.text.length;
    const isLong = Math.max(counter.first(word.text), counter.inside(blank + word.text)) > size;
    // Parts of a word without blanks, such as a Chinese paragraph, are small, so that they fill a piece well.
    const most = isLong ? Math.max(1, size >> 3) : size;
    units.push(...unitsOf(word.text, word.start, blank, counter, most));
  }
  return units;
}

/** The end of the piece that begins with unit `begin`. */
function endOf(units: readonly Unit[], begin: number, size: number): number {
  let numTokens = units[begin]?.numFirst ?? 0;
  let end = begin + 1;
  for (; end < units.length; end += 1) {
    numTokens += units[end]?.numInside ?? 0;
    if (numTokens > size) break;
  }
  return end;
}

/** The first unit of the next piece: as many before `end` as `overlap` tokens hold, but not the whole piece. */
function nextBegin(units: readonly Unit[], begin: number, end: number, overlap: number): number {
  let numTokens = 0;
  let next = end;
  while (next > begin + 1) {
    numTokens += units[next - 1]?.numInside ?? 0;
    if (numTokens > overlap) break;
    next -= 1;
  }
  return next;
}

/**
 * A function that cuts texts into pieces of whole words with at most `size` tokens, of which the next repeats at most
 * `overlap`. A word with more tokens than that, such as a paragraph of Chinese, is cut inside.
 */
export function tokenSplitter(
  tokenizer: Tokenizer,
  { size, overlap }: PieceSize,
): (text: string) => string[] {
  const counter = new TokenCounter(tokenizer);
  return (text) => {
    const units = allUnits(text, counter, size);
    const pieces: string[] = [];
    for (let begin = 0; begin < units.length; ) {
      const end = endOf(units, begin, size);
      pieces.push(text.slice(units[begin]?.start, units[end - 1]?.end));
      if (end === units.length) break;
      begin = nextBegin(units, begin, end, overlap);
    }
    return pieces;
  };
}
