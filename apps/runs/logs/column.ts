/** Columns of numbers that grow, in a few bytes a row. */

/** The arrays that a column can be kept in. */
type Numbers = Float64Array | Float32Array | Uint32Array | Uint16Array | Uint8Array;

/** A list of numbers of one type, with room to grow. */
export class Column<Kind extends Numbers = Numbers> {
  readonly #make: (length: number) => Kind;
  #values: Kind;
  #length = 0;

  /** @param make - gives an array of so many numbers, all of them 0 */
  constructor(make: (length: number) => Kind) {
    this.#make = make;
    this.#values = make(64);
  }

  /** How many there are. */
  get length(): number {
    return this.#length;
  }

  /** Memory that it takes, bytes. */
  get bytes(): number {
    return this.#values.byteLength;
  }

  /** Adds one. */
  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = this.#make(2 * this.#length);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length] = value;
    this.#length += 1;
  }

  /** The number of a row; 0 beyond the last one. */
  at(row: number): number {
    return row < this.#length ? this.#values[row]! : 0;
  }

  /** Forgets all of them. */
  clear(): void {
    this.#length = 0;
    this.#values = this.#make(64);
  }
}
