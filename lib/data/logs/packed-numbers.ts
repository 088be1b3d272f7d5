/** Arrays of numbers in a JSON line: their bytes in base64, or the one number that all of them are. */
import { SeekError } from "../../base/errors.ts";

/** Little-endian f32 or i32 in base64; a number where every entry is that number. */
export type PackedNumbers = string | number;

function base64Of(values: Float32Array | Int32Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString("base64");
}

/**
 * Packs ids, four bytes each.
 *
 * @example
 * assert.deepEqual([...unpackIds(packIds(Int32Array.of(7, 8)))], [7, 8]);
 */
export function packIds(ids: Int32Array): string {
  return base64Of(ids);
}

/** What {@link packIds} packed. @throws ERR_FORMAT for what is no base64 of whole ids */
export function unpackIds(text: string): Int32Array {
  return new Int32Array(bytesOf(text));
}

/**
 * Packs f32 numbers with all their bits; NaN stands for one that is not there.
 *
 * @param values - any number of them
 * @returns the number itself where all are the same finite one
 */
export function packFloats(values: Float32Array): PackedNumbers {
  const [first] = values;
  const isConstant = first !== undefined && Number.isFinite(first) && values.every((each) => each === first);
  return isConstant && !Object.is(first, -0) ? first : base64Of(values);
}

/**
 * What {@link packFloats} packed.
 *
 * @param packed - a number, or base64
 * @param length - how many there are
 * @throws ERR_FORMAT for another number of them
 */
export function unpackFloats(packed: PackedNumbers, length: number): Float32Array {
  if (typeof packed === "number") return new Float32Array(length).fill(packed);
  const values = new Float32Array(bytesOf(packed));
  if (values.length === length) return values;
  throw new SeekError("ERR_FORMAT", `packed numbers: expected ${length}, got ${values.length}`);
}

function bytesOf(text: string): ArrayBuffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length % 4 !== 0) {
    throw new SeekError("ERR_FORMAT", `packed numbers: expected groups of 4 bytes, got ${bytes.length}`);
  }
  // A copy of its own: what Buffer gives may begin anywhere in a larger one.
  return new Uint8Array(bytes).buffer;
}
