/** SentencePiece's table of replacements, as it stands in `.model` files and in a Precompiled normaliser. */
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

  /** @throws ERR_FORMAT when the trie does not fit the bytes */
  constructor(bytes: Uint8Array) {
    const copy = new Uint8Array(bytes);
    const trieSize = copy.length < 4 ? 0 : new DataView(copy.buffer).getUint32(0, true);
    if (trieSize > copy.length - 4 && trieSize > 0) {
      throw new SeekError(
        "ERR_FORMAT",
        `chars map: expected ${trieSize} bytes of trie, got ${copy.length - 4}`,
      );
    }
    this.#units = new Uint32Array(copy.buffer.slice(4, 4 + trieSize - (trieSize % 4)));
    this.#texts = copy.subarray(4 + trieSize);
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
