/** What the engine knows of a tokenizer: the bytes of each token, the ends of text, and which ids there are. */
import { shownValue } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";

/** The part of a tokenizer the engine uses. */
export interface TokenTable {
  /** One more than the largest id. */
  readonly vocabSize: number;
  /** Ids that end a text or a turn. */
  readonly eosIds: readonly number[];
  /** The bytes a token stands for. */
  tokenBytes(id: number): Uint8Array;
  /** Whether a token is a mark, such as the end of a turn, and no text. */
  isSpecial(id: number): boolean;
  /** The spelling of a token; undefined for an id that is none. Without it every id is a token. */
  tokenOf?(id: number): string | undefined;
}

/** Rows of a model's head that are no token: many are padded to a round number. They are never drawn. */
export function undrawnIds(table: TokenTable | undefined, numRows: number): Int32Array {
  if (table === undefined) return new Int32Array();
  const isToken = (id: number): boolean =>
    table.eosIds.includes(id) ||
    (id < table.vocabSize && (table.tokenOf === undefined || table.tokenOf(id) !== undefined));
  return Int32Array.from({ length: numRows }, (_, id) => id).filter((id) => !isToken(id));
}

/** The bytes of all tokens, one after another: token t is `bytes[starts[t]]` to before `bytes[starts[t + 1]]`. */
export interface PackedBytes {
  readonly bytes: Uint8Array;
  readonly starts: Int32Array;
}

/** @throws ERR_ARGUMENT for what lacks a part of a table */
export function checkTokenTable(table: Partial<TokenTable>): void {
  const { vocabSize, eosIds, tokenBytes, isSpecial } = table;
  const areFunctions = [tokenBytes, isSpecial].every((each) => typeof each === "function");
  if (Number.isSafeInteger(vocabSize) && Array.isArray(eosIds) && areFunctions) return;
  throw new SeekError(
    "ERR_ARGUMENT",
    `Engine.open: tokenizer: expected a tokenizer, such as Tokenizer.load gives, got ${shownValue(table)}`,
  );
}

/** Packs a table once, so that the native side never asks back. */
export function packBytes(table: TokenTable | undefined): PackedBytes {
  const pieces = Array.from(
    { length: table?.vocabSize ?? 0 },
    (_, id) => table?.tokenBytes(id) ?? new Uint8Array(),
  );
  const starts = new Int32Array(pieces.length + 1);
  pieces.forEach((piece, id) => {
    starts[id + 1] = (starts[id] ?? 0) + piece.length;
  });
  return { bytes: new Uint8Array(Buffer.concat(pieces)), starts };
}

/** Copies ids into an Int32Array. @throws ERR_ARGUMENT for anything else; ERR_RANGE for one outside the vocabulary */
export function checkIds(
  ids: Int32Array | readonly number[],
  vocabSize: number,
  name: string = "ids",
): Int32Array {
  if (!(ids instanceof Int32Array || Array.isArray(ids))) {
    const expected = "an Int32Array or a list of token ids, such as tokenizer.encode gives";
    throw new SeekError("ERR_ARGUMENT", `${name}: expected ${expected}, got ${shownValue(ids)}`);
  }
  const wrong = ids.findIndex((id) => !(id >= 0 && id < vocabSize && Number.isInteger(id)));
  if (wrong >= 0) {
    throw new SeekError(
      "ERR_RANGE",
      `${name}: expected 0 to ${vocabSize - 1}, got ${shownValue(ids[wrong])} at ${wrong}`,
    );
  }
  return Int32Array.from(ids);
}
