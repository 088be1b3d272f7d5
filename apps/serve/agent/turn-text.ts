/** The text of a turn, token by token. */
import type { TextCodec } from "../../../lib/rollout/seams.ts";
import { Detokenizer } from "../../../lib/text/tokenizers/detokenizer.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { SampledToken } from "../reply/tokens.ts";

/** Turns ids into tokens and the text that each completes; what ends a turn is no text. */
export class TurnText {
  readonly #codec: TextCodec;
  readonly #tokenizer: Tokenizer | undefined;
  readonly #detokenizer: Detokenizer | undefined;

  /** @param codec - a codec that is no tokenizer of ours is asked id by id */
  constructor(codec: TextCodec) {
    this.#codec = codec;
    this.#tokenizer = "pieces" in codec ? (codec as Tokenizer) : undefined;
    this.#detokenizer = this.#tokenizer && new Detokenizer(this.#tokenizer);
  }

  push(id: number, logprob: number): { readonly token: SampledToken; readonly text: string } {
    const tokenizer = this.#tokenizer;
    if (tokenizer === undefined) {
      const text = this.#codec.decode(Int32Array.of(id));
      return { token: { id, logprob, bytes: new TextEncoder().encode(text) }, text };
    }
    const token = { id, logprob, bytes: tokenizer.pieces.bytes(id) };
    return { token, text: tokenizer.eosIds.includes(id) ? "" : (this.#detokenizer?.push([id]) ?? "") };
  }

  /** @returns what was held back of the last character */
  end(): string {
    return this.#detokenizer?.flush() ?? "";
  }
}
