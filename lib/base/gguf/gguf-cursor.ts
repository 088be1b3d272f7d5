/** Reads the numbers, strings and lists of a GGUF header in their order; little-endian. */
import { SeekError } from "../errors.ts";

/** A value of the metadata. */
export type GgufValue = number | boolean | string | readonly GgufValue[];

/** The bytes at hand end before what is read. */
export class Truncated extends Error {}

const listType = 9;
/** Lists stand in lists, in no file that is known deeper than once. */
const maxDepth = 8;
const utf8 = new TextDecoder("utf-8");

/** A place in the first bytes of a file. */
export class GgufCursor {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  /** Bytes read. */
  position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #take(size: number): number {
    const start = this.position;
    if (!(start + size <= this.#bytes.length)) throw new Truncated();
    this.position += size;
    return start;
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** A number of 64 bits that counts something; beyond what can be counted, more than any file holds. */
  count(): number {
    return Number(this.#view.getBigUint64(this.#take(8), true));
  }

  string(): string {
    const size = this.count();
    const start = this.#take(size);
    return utf8.decode(this.#bytes.subarray(start, start + size));
  }

  /** @param what named in errors */
  value(type: number, what: string, depth = 0): GgufValue {
    if (type !== listType) return this.#scalar(type, what);
    if (depth === maxDepth)
      throw new SeekError("ERR_FORMAT", `${what}: expected lists in lists up to ${maxDepth} deep`);
    const inner = this.u32();
    const length = this.count();
    const values: GgufValue[] = [];
    for (let i = 0; i < length; i++) values.push(this.value(inner, what, depth + 1));
    return values;
  }

  #scalar(type: number, what: string): GgufValue {
    const view = this.#view;
    switch (type) {
      case 0:
        return view.getUint8(this.#take(1));
      case 1:
        return view.getInt8(this.#take(1));
      case 2:
        return view.getUint16(this.#take(2), true);
      case 3:
        return view.getInt16(this.#take(2), true);
      case 4:
        return this.u32();
      case 5:
        return view.getInt32(this.#take(4), true);
      case 6:
        return view.getFloat32(this.#take(4), true);
      case 7:
        return view.getUint8(this.#take(1)) !== 0;
      case 8:
        return this.string();
      case 10:
        return this.count();
      case 11:
        return Number(view.getBigInt64(this.#take(8), true));
      case 12:
        return view.getFloat64(this.#take(8), true);
      default:
        throw new SeekError("ERR_FORMAT", `${what}: unknown type of value ${type}`);
    }
  }
}
