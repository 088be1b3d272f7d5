/** Writes a SentencePiece model as a `.model` file: the fields that encoding needs. */
import type { SentencePieceModel } from "./sentencepiece-model.ts";

function varint(value: number): Buffer {
  // As the format has it, a negative number is a 64-bit one.
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

const number = (field: number, value: number): Buffer => Buffer.concat([varint(field * 8), varint(value)]);
const flag = (field: number, value: boolean): Buffer => number(field, value ? 1 : 0);

function float(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint(field * 8 + 5), bytes]);
}

function bytes(field: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);
}

const text = (field: number, value: string): Buffer => bytes(field, Buffer.from(value));

/** The bytes of the file; `readSentencePieceModel` gives the model back. */
export function writeSentencePieceModel(model: SentencePieceModel): Uint8Array {
  const pieces = model.pieces.map((piece) =>
    bytes(1, Buffer.concat([text(1, piece.text), float(2, piece.score), number(3, piece.type)])),
  );
  const trainer = [
    ...[number(3, model.algorithm === "unigram" ? 1 : 2), flag(24, model.isSpaceSuffix)],
    ...[flag(35, model.hasByteFallback), number(40, model.unkId), number(41, model.bosId)],
    ...[number(42, model.eosId), number(43, model.padId), text(44, model.unkSurface)],
  ];
  const normalizer = [
    ...[bytes(2, model.charsMap), flag(3, model.addDummyPrefix)],
    ...[flag(4, model.removeExtraSpaces), flag(5, model.escapeSpaces)],
  ];
  return Buffer.concat([...pieces, bytes(2, Buffer.concat(trainer)), bytes(3, Buffer.concat(normalizer))]);
}
