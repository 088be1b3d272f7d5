/** SentencePiece's table of replacements, as it stands in `.model` files and in a Precompiled normaliser. */
import { isUtf8 } from "node:buffer";
import { SeekError } from "../../../base/errors.ts";

/** A part of the input with what it becomes. */
export interface Prefix {
  readonly output: Uint8Array;
  readonly numConsumed: number;
}

/** A double-array trie (Darts) over UTF-8 bytes, followed by NUL-ended texts. */
export class CharsMap {
  readonly #units: Uint32Array;
  readonly #texts: Uint8Array;

  /**
   * @param bytes the table; none at all replaces nothing
   * @throws ERR_FORMAT when the trie does not fit the bytes, or the texts are not UTF-8
   */
  constructor(bytes: Uint8Array) {
    const copy = new Uint8Array(bytes);
    const most = copy.length - 4;
    const trieSize = most < 0 ? 0 : new DataView(copy.buffer).getUint32(0, true);
    const fits = trieSize > 0 && trieSize % 4 === 0 && trieSize <= most;
    if (copy.length > 0 && !fits) {
      throw new SeekError(
        "ERR_FORMAT",
        `chars map: expected a trie of 4 to ${most} bytes, in fours, got ${trieSize}`,
      );
    }
    this.#units = new Uint32Array(copy.buffer.slice(4, 4 + trieSize));
    this.#texts = copy.subarray(4 + trieSize);
    if (!isUtf8(this.#texts)) throw new SeekError("ERR_FORMAT", "chars map: the texts are not UTF-8");
  }

  /** The longest replacement that starts at `start`. */
  longest(input: Uint8Array, start: number): Prefix | undefined {
    let found: Prefix | undefined;
    for (const prefix of this.#prefixes(input, start)) found = prefix;
    return found;
  }

  /** What the shortest entry that begins `text` puts in place of it. */
  shortest(text: string): string | undefined {
    for (const { output } of this.#prefixes(Buffer.from(text), 0))
      return Buffer.from(output).toString("utf8");
    return undefined;
  }

  *#prefixes(input: Uint8Array, start: number): Generator<Prefix> {
    if (this.#units.length === 0) return;
    let node = this.#offset(0);
    for (let at = start; at < input.length; ++at) {
      const byte = input[at] as number;
      node ^= byte;
      const unit = this.#units[node] ?? 0;
      if ((unit & 0x800000ff) >>> 0 !== byte) return;
      node ^= this.#offset(node);
      if ((unit & 0x100) !== 0) yield { output: this.#text(node), numConsumed: at + 1 - start };
    }
  }

  #offset(node: number): number {
    const unit = this.#units[node] ?? 0;
    return (unit >>> 10) << ((unit & 0x200) >>> 6);
  }

  #text(leaf: number): Uint8Array {
    const start = (this.#units[leaf] ?? 0) & 0x7fffffff;
    const end = this.#texts.indexOf(0, start);
    return this.#texts.subarray(start, end < 0 ? undefined : end);
  }
}
