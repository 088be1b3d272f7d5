/** The text of sampled tokens as it comes, and what is held back of it. */
import { newTextDecoder, PieceJoiner } from "../../../lib/text/tokenizers/pieces.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { SampledToken, TextPiece } from "../reply/tokens.ts";

/** How text is made of tokens. */
interface TextOptions {
  /** End the text, and are no part of it; what may be the beginning of one is held back. */
  readonly stop: readonly string[];
  /** Ids that end the text and are no part of it. */
  readonly endIds: ReadonlySet<number>;
  /** Tokens that are no text and are written all the same, as they are spelt: marks such as `<|python_tag|>`. */
  readonly keptIds: ReadonlySet<number>;
  /** The last token of the prompt, if it has any: what follows it does not begin a text. */
  readonly lastPromptId: number | undefined;
}

/** A token, and where its text ends, counted from the beginning of all text. */
interface Placed {
  readonly token: SampledToken;
  readonly end: number;
}

/** Characters of `text` that stand before the first stop string in it, or before what may begin one at its end. */
function numFree(text: string, stop: readonly string[]): number {
  let free = text.length;
  for (const word of stop) {
    const whole = text.indexOf(word);
    if (whole >= 0) free = Math.min(free, whole);
    let begun = Math.min(word.length - 1, text.length);
    while (begun > 0 && !text.endsWith(word.slice(0, begun))) begun--;
    free = Math.min(free, text.length - begun);
  }
  return free;
}

/** Text from tokens: characters are whole, stop strings are never begun, every token is given once. */
export class TokenText {
  readonly #tokenizer: Tokenizer;
  readonly #options: TextOptions;
  readonly #joiner: PieceJoiner;
  readonly #decoder = newTextDecoder();
  #held = "";
  #numReleased = 0;
  #placed: Placed[] = [];

  constructor(tokenizer: Tokenizer, options: TextOptions) {
    this.#tokenizer = tokenizer;
    this.#options = options;
    this.#joiner = new PieceJoiner(tokenizer.pieces);
    if (options.lastPromptId !== undefined) this.#joiner.next(options.lastPromptId);
  }

  /** Takes the next tokens. @returns the text that they complete, and its tokens; either may be empty */
  push(tokens: readonly SampledToken[]): TextPiece {
    for (const token of tokens) {
      this.#held += this.#textOf(token.id);
      const isText = !this.#options.endIds.has(token.id);
      const end = isText ? this.#numReleased + this.#held.length : Number.POSITIVE_INFINITY;
      this.#placed.push({ token, end });
    }
    return this.#release(numFree(this.#held, this.#options.stop));
  }

  /**
   * Ends the text.
   *
   * @param stopText - the stop string that was met
   * @returns the last of the text, and the tokens that are no text: what ended it
   */
  end(stopText?: string): { readonly piece: TextPiece; readonly rest: readonly SampledToken[] } {
    this.#held += this.#decoder.decode();
    const stopAt = stopText === undefined ? -1 : this.#held.indexOf(stopText);
    const piece = this.#release(stopAt < 0 ? this.#held.length : stopAt);
    return { piece, rest: this.#placed.map(({ token }) => token) };
  }

  #textOf(id: number): string {
    const { endIds, keptIds } = this.#options;
    if (endIds.has(id) || (this.#tokenizer.isSpecial(id) && !keptIds.has(id))) return "";
    return this.#decoder.decode(this.#joiner.next(id), { stream: true });
  }

  #release(numChars: number): TextPiece {
    const text = this.#held.slice(0, numChars);
    this.#held = this.#held.slice(numChars);
    this.#numReleased += numChars;
    const numWhole = this.#placed.findIndex(({ end }) => end > this.#numReleased);
    const whole = this.#placed.splice(0, numWhole < 0 ? this.#placed.length : numWhole);
    return { text, tokens: whole.map(({ token }) => token) };
  }
}
