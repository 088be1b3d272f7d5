/** Orders rows by a number of each, millions of them without a comparison function. */

/** 32 bits that are ordered as floats are. */
function orderedBits(bits: number): number {
  return bits & 0x8000_0000 ? ~bits >>> 0 : (bits | 0x8000_0000) >>> 0;
}

/**
 * Rows by their keys; rows of one key stay in the order in which they are given, in either direction. Keys count as f32.
 *
 * @param rows - ascending
 * @param keyOf - the key of a row, not NaN
 * @param isDescending - the greatest first
 */
export function sortedRows(
  rows: Uint32Array,
  keyOf: (row: number) => number,
  isDescending: boolean,
): Uint32Array {
  const key = new Float32Array(1);
  const keyBits = new Uint32Array(key.buffer);
  // Key above, row below: one comparison of 64 bits, which the array sorts by itself. Little-endian.
  const packed = new BigUint64Array(rows.length);
  const halves = new Uint32Array(packed.buffer);
  for (let i = 0; i < rows.length; i += 1) {
    key[0] = keyOf(rows[i]!);
    const bits = orderedBits(keyBits[0]!);
    halves[2 * i] = rows[i]!;
    halves[2 * i + 1] = isDescending ? ~bits >>> 0 : bits;
  }
  packed.sort();
  return Uint32Array.from({ length: rows.length }, (_, i) => halves[2 * i]!);
}
