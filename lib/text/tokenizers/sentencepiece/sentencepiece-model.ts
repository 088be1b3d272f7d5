/** SentencePiece's `.model` files: the few fields of their protocol buffer that encoding needs. */
import { SeekError } from "../../../base/errors.ts";

/** What a piece is; the numbers stand in the file. */
export const pieceTypes = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

/** One entry of the vocabulary. */
interface Piece {
  readonly text: string;
  /** Log-probability (unigram) or minus the rank of its merge (BPE); f32. */
  readonly score: number;
  readonly type: number;
}

/** The content of a `.model` file. */
export interface SentencePieceModel {
  readonly pieces: readonly Piece[];
  readonly algorithm: "unigram" | "bpe";
  readonly unkId: number;
  /** -1 where there is none, as for the next two. */
  readonly bosId: number;
  readonly eosId: number;
  readonly padId: number;
  readonly unkSurface: string;
  readonly hasByteFallback: boolean;
  readonly isSpaceSuffix: boolean;
  readonly charsMap: Uint8Array;
  readonly addDummyPrefix: boolean;
  readonly removeExtraSpaces: boolean;
  readonly escapeSpaces: boolean;
}

type Value = number | Uint8Array;

/** Reads the wire format: every field with its number; of repeated ones all. */
class Message {
  readonly #fields = new Map<number, Value[]>();

  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    const varint = (): number => {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = view.getUint8(at++);
        value += (byte & 127) * scale;
        if (byte < 128) return value;
      }
    };
    const take = (wire: number): Value => {
      if (wire === 0) return varint();
      const size = wire === 5 ? 4 : wire === 1 ? 8 : wire === 2 ? varint() : Number.NaN;
      if (!(at + size <= bytes.length)) throw new RangeError(`field of type ${wire} at byte ${at}`);
      at += size;
      return wire === 5 ? view.getFloat32(at - 4, true) : bytes.subarray(at - size, at);
    };
    while (at < bytes.length) {
      const tag = varint();
      const field = Math.floor(tag / 8);
      const values = this.#fields.get(field) ?? [];
      values.push(take(tag % 8));
      this.#fields.set(field, values);
    }
  }

  all(field: number): Message[] {
    return (this.#fields.get(field) ?? []).map((value) => new Message(value as Uint8Array));
  }

  message(field: number): Message {
    return new Message(this.bytes(field));
  }

  bytes(field: number): Uint8Array {
    return (this.#fields.get(field)?.at(-1) as Uint8Array | undefined) ?? new Uint8Array(0);
  }

  text(field: number, otherwise = ""): string {
    const value = this.#fields.get(field)?.at(-1);
    return value === undefined ? otherwise : Buffer.from(value as Uint8Array).toString("utf8");
  }

  /** An integer as 32 bits with sign: -1 is written as ten bytes of a 64-bit number. */
  integer(field: number, otherwise: number): number {
    const value = this.#fields.get(field)?.at(-1) as number | undefined;
    return value === undefined ? otherwise : value >= 2 ** 63 ? -1 : value;
  }

  float(field: number): number {
    return (this.#fields.get(field)?.at(-1) as number | undefined) ?? 0;
  }

  flag(field: number, otherwise: boolean): boolean {
    return this.integer(field, otherwise ? 1 : 0) !== 0;
  }
}

function algorithmOf(trainer: Message): "unigram" | "bpe" {
  const type = trainer.integer(3, 1);
  if (type === 1 || type === 2) return type === 1 ? "unigram" : "bpe";
  throw new SeekError("ERR_FORMAT", `model type: expected unigram (1) or BPE (2), got ${type}`);
}

function readModel(bytes: Uint8Array): SentencePieceModel {
  const model = new Message(bytes);
  const trainer = model.message(2);
  const normalizer = model.message(3);
  const pieces = model.all(1).map((piece) => ({
    text: piece.text(1),
    score: piece.float(2),
    type: piece.integer(3, pieceTypes.normal),
  }));
  if (pieces.length === 0) throw new SeekError("ERR_FORMAT", "expected pieces, got none");
  return {
    pieces,
    algorithm: algorithmOf(trainer),
    unkId: trainer.integer(40, 0),
    bosId: trainer.integer(41, 1),
    eosId: trainer.integer(42, 2),
    padId: trainer.integer(43, -1),
    unkSurface: trainer.text(44, " \u2047 "),
    hasByteFallback: trainer.flag(35, false),
    isSpaceSuffix: trainer.flag(24, false),
    charsMap: normalizer.bytes(2),
    addDummyPrefix: normalizer.flag(3, true),
    removeExtraSpaces: normalizer.flag(4, true),
    escapeSpaces: normalizer.flag(5, true),
  };
}

/**
 * Reads a SentencePiece model.
 *
 * @param path named in errors
 * @throws ERR_FORMAT when the bytes are no such model, or one of the types word and char
 */
export function readSentencePieceModel(path: string, bytes: Uint8Array): SentencePieceModel {
  try {
    return readModel(bytes);
  } catch (cause) {
    throw new SeekError(
      "ERR_FORMAT",
      `${path}: expected a SentencePiece model: ${(cause as Error).message}`,
      { cause },
    );
  }
}
