/** SentencePiece's normaliser: its table of replacements, and its rules for spaces. */
import { CharsMap, type Prefix } from "./chars-map.ts";
import { pieceTypes, type SentencePieceModel } from "./sentencepiece-model.ts";

/** The sign that stands for a space inside pieces. */
export const spaceSign = "\u2581";

const spaceSignBytes = Buffer.from(spaceSign);
const replacement = Buffer.from("\ufffd");
const spaceByte = 0x20;

/** The length of the UTF-8 character at `start`; 0 where there is none. The input comes from TextEncoder. */
function charLength(input: Uint8Array, start: number): number {
  const byte = input[start] as number;
  if (byte < 0x80) return 1;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/** Turns text into the form whose pieces are in the vocabulary. */
export class SentencePieceNormalizer {
  readonly #model: SentencePieceModel;
  readonly #charsMap: CharsMap;
  readonly #userDefined: readonly Uint8Array[];

  constructor(model: SentencePieceModel) {
    this.#model = model;
    this.#charsMap = new CharsMap(model.charsMap);
    const userDefined = model.pieces.filter((piece) => piece.type === pieceTypes.userDefined);
    this.#userDefined = userDefined.map(({ text }) => Buffer.from(text)).sort((a, b) => b.length - a.length);
  }

  /** The normalised text; empty when nothing but spaces is left and those are removed. */
  normalize(text: string): string {
    const { removeExtraSpaces, addDummyPrefix, isSpaceSuffix } = this.#model;
    const input = Buffer.from(text, "utf8");
    const output: number[] = [];
    let at = removeExtraSpaces ? this.#skipSpaces(input) : 0;
    if (at === input.length) return "";
    if (addDummyPrefix && !isSpaceSuffix) this.#put(spaceByte, output);
    let isAfterSpace = removeExtraSpaces;
    while (at < input.length) {
      const { output: part, numConsumed } = this.#prefix(input, at);
      at += numConsumed;
      for (const byte of part) {
        const isSpace = byte === spaceByte;
        if (!(isAfterSpace && isSpace)) this.#put(byte, output);
        isAfterSpace = isAfterSpace && isSpace;
      }
      if (part.length > 0) isAfterSpace = removeExtraSpaces && part.at(-1) === spaceByte;
    }
    const trimmed = this.#trimEnd(Buffer.from(output).toString("utf8"));
    return addDummyPrefix && isSpaceSuffix ? trimmed + this.#space() : trimmed;
  }

  #space(): string {
    return this.#model.escapeSpaces ? spaceSign : " ";
  }

  #put(byte: number, output: number[]): void {
    if (byte === spaceByte && this.#model.escapeSpaces) output.push(...spaceSignBytes);
    else output.push(byte);
  }

  #skipSpaces(input: Uint8Array): number {
    let at = 0;
    while (at < input.length) {
      const { output, numConsumed } = this.#prefix(input, at);
      if (output.length !== 1 || output[0] !== spaceByte) break;
      at += numConsumed;
    }
    return at;
  }

  #trimEnd(text: string): string {
    const space = this.#space();
    let end = text.length;
    while (this.#model.removeExtraSpaces && end > 0 && text[end - 1] === space) end -= 1;
    return text.slice(0, end);
  }

  /** What the input becomes at `start`: a user's own symbol as it stands, a replacement, or one character. */
  #prefix(input: Uint8Array, start: number): Prefix {
    const own = this.#userDefined.find((symbol) => startsWith(input, start, symbol));
    if (own !== undefined) return { output: own, numConsumed: own.length };
    const replaced = this.#charsMap.longest(input, start);
    if (replaced !== undefined) return replaced;
    const numConsumed = charLength(input, start);
    if (start + numConsumed > input.length) return { output: replacement, numConsumed: 1 };
    return { output: input.subarray(start, start + numConsumed), numConsumed };
  }
}

function startsWith(input: Uint8Array, start: number, symbol: Uint8Array): boolean {
  return symbol.every((byte, i) => input[start + i] === byte);
}
