/** Text from ids that come in bit by bit. */
import { checkOptions } from "../../base/check-options.ts";
import { newTextDecoder, PieceJoiner } from "./pieces.ts";
import type { DecodeOptions, Tokenizer } from "./tokenizer.ts";

/**
 * Turns ids into text as they come. A character whose bytes are not all there yet is held back, so what `push` returns,
 * put together with `flush`, is what {@link Tokenizer.decode} gives for all ids at once.
 *
 * @example
 * const detokenizer = new Detokenizer(tokenizer);
 * for await (const ids of stream) process.stdout.write(detokenizer.push(ids));
 * process.stdout.write(detokenizer.flush());
 */
export class Detokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #skipSpecialTokens: boolean;
  readonly #joiner: PieceJoiner;
  readonly #decoder = newTextDecoder();

  constructor(tokenizer: Tokenizer, options: DecodeOptions = {}) {
    const { skipSpecialTokens = false } = checkOptions("Detokenizer", options, {
      skipSpecialTokens: "boolean",
    });
    this.#tokenizer = tokenizer;
    this.#skipSpecialTokens = skipSpecialTokens;
    this.#joiner = new PieceJoiner(tokenizer.pieces);
  }

  /**
   * Takes the next ids.
   *
   * @param ids in order, any number of them
   * @returns the text that they complete; it may be empty
   * @throws ERR_RANGE for an id outside of the vocabulary
   */
  push(ids: Iterable<number>): string {
    let text = "";
    for (const id of ids) {
      if (this.#skipSpecialTokens && this.#tokenizer.isSpecial(id)) continue;
      text += this.#decoder.decode(this.#joiner.next(id), { stream: true });
    }
    return text;
  }

  /**
   * Ends the text; call it once.
   *
   * @returns what is still held back: bytes that never became a character, as U+FFFD
   */
  flush(): string {
    return this.#decoder.decode();
  }
}
