/** What every tokenizer file format is turned into, so that Tokenizer need not know which one it was. */
import type { PieceTable } from "./pieces.ts";

/** How text is to be read. */
export interface EncodeParts {
  /** Whether `<|im_end|>` in the text is that token, or the letters it is written with. */
  readonly parseSpecialTokens: boolean;
}

/** Ids around a text. */
export interface Marks {
  readonly prefix: readonly number[];
  readonly suffix: readonly number[];
}

/** Ids around and between two texts. */
export interface PairMarks extends Marks {
  readonly middle: readonly number[];
  /** Segment of the second text and of what follows it; all before is segment 0. */
  readonly secondType: number;
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
  readonly template: Marks;
  /** The same for two texts, where the format says. */
  readonly pair?: PairMarks | undefined;
}
