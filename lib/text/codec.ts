/** What every tokenizer file format is turned into, so that Tokenizer need not know which one it was. */
import type { PieceTable } from "./pieces.ts";

/** How text is to be read. */
export interface EncodeParts {
  /** Whether `<|im_end|>` in the text is that token, or the letters it is written with. */
  readonly parseSpecialTokens: boolean;
}

/** One vocabulary with its encoder. */
export interface Codec {
  /** Bytes of each id. */
  readonly pieces: PieceTable;
  /** The vocabulary's own spelling of each id; holes are undefined. */
  readonly tokens: readonly (string | undefined)[];
  readonly ids: ReadonlyMap<string, number>;
  /** Tokens that are no text: control marks. */
  readonly specials: ReadonlyMap<string, number>;
  readonly encode: (text: string, parts: EncodeParts) => number[];
  /** Ids put before and after a text when special tokens are asked for. */
  readonly template: { readonly prefix: readonly number[]; readonly suffix: readonly number[] };
}
