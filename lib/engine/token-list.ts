/** A sequence's tokens in an array that grows by doubling. */
import { SeekError } from "../base/errors.ts";

/** Token ids. */
export class TokenList {
  #tokens: Int32Array;
  #length: number;

  constructor(tokens: Int32Array) {
    this.#tokens = tokens;
    this.#length = tokens.length;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds ids, i32 [T], at the end. */
  add(ids: Int32Array): void {
    const needed = this.#length + ids.length;
    if (needed > this.#tokens.length) {
      const grown = new Int32Array(Math.max(needed, 2 * this.#tokens.length));
      grown.set(this.#tokens.subarray(0, this.#length));
      this.#tokens = grown;
    }
    this.#tokens.set(ids, this.#length);
    this.#length = needed;
  }

  /**
   * A number of leading tokens, at the door.
   *
   * @param what - names it
   * @throws ERR_RANGE for fewer than `least` or more than there are
   */
  checkLength(what: string, length: number, least: number): void {
    if (Number.isInteger(length) && length >= least && length <= this.#length) return;
    throw new SeekError("ERR_RANGE", `${what}: expected ${least} to ${this.#length}, got ${length}`);
  }

  /** Keeps the first `length` ids. */
  truncate(length: number): void {
    this.#length = length;
  }

  /** All ids, i32 [T]. */
  copy(): Int32Array {
    return this.#tokens.slice(0, this.#length);
  }
}
