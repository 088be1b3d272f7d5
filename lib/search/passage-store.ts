/** Passages by number, kept as bytes and parsed when asked for: a corpus costs its size on disk and 4 bytes a passage. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { batchesOf } from "../base/batches.ts";
import { SeekError } from "../base/errors.ts";
import { writeFileAtomic } from "../base/files.ts";
import type { Passage } from "../data/passage.ts";

/** Whole lines of JSON, each ended by a line feed. */
interface Block {
  /** The number of the first passage. */
  readonly first: number;
  readonly bytes: Buffer;
  /** Where each line begins, and where the last ends. */
  readonly starts: Uint32Array;
}

const lineFeed = 10;

function blockOf(bytes: Buffer, first: number): Block {
  const starts = [0];
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) starts.push(at + 1);
  return { first, bytes, starts: Uint32Array.from(starts) };
}

/** The file in pieces that end with a line. */
async function* readBlocks(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 22 }) as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end === 0) {
      rest.push(chunk);
      continue;
    }
    yield Buffer.concat([...rest, chunk.subarray(0, end)]);
    rest = [Buffer.from(chunk.subarray(end))];
  }
  const last = Buffer.concat(rest);
  if (last.length > 0) yield Buffer.concat([last, Buffer.from("\n")]);
}

/** Passages numbered from 0, as the indexes number them. */
export class PassageStore implements Iterable<Passage> {
  readonly #blocks: Block[] = [];
  readonly #hash = createHash("sha256");
  #size = 0;

  private constructor() {}

  /**
   * Takes passages as they come.
   *
   * @param passages numbered in this order
   * @returns the store, in memory
   */
  static async from(passages: Iterable<Passage> | AsyncIterable<Passage>): Promise<PassageStore> {
    const store = new PassageStore();
    for await (const batch of batchesOf(passages, 4096)) {
      const lines = batch.map(({ id, title, text }) => `${JSON.stringify({ id, title, text })}\n`);
      store.#append(Buffer.from(lines.join("")));
    }
    return store;
  }

  /**
   * Reads a file that `save` wrote.
   *
   * @param path the file
   * @param options `sha256`: what its bytes must hash to
   * @throws ERR_IO, ERR_FORMAT when the bytes are not those
   */
  static async open(path: string, { sha256 }: { readonly sha256?: string } = {}): Promise<PassageStore> {
    const store = new PassageStore();
    try {
      for await (const bytes of readBlocks(path)) store.#append(bytes);
    } catch (cause) {
      if (cause instanceof SeekError) throw cause;
      throw new SeekError("ERR_IO", `${path}: cannot be read: ${(cause as Error).message}`, { cause });
    }
    const actual = store.sha256;
    if (sha256 !== undefined && actual !== sha256)
      throw new SeekError(
        "ERR_FORMAT",
        `${path}: expected SHA-256 ${sha256}, got ${actual}: the file is damaged`,
      );
    return store;
  }

  #append(bytes: Buffer): void {
    const block = blockOf(bytes, this.#size);
    this.#blocks.push(block);
    this.#hash.update(bytes);
    this.#size += block.starts.length - 1;
  }

  /** How many passages there are. */
  get size(): number {
    return this.#size;
  }

  /** SHA-256 of the saved file, in hexadecimal. */
  get sha256(): string {
    return this.#hash.copy().digest("hex");
  }

  /**
   * One passage.
   *
   * @param index its number, from 0
   * @returns the passage
   * @throws ERR_RANGE when there is none
   */
  get(index: number): Passage {
    const block = this.#blocks.findLast(({ first }) => first <= index);
    const start = block?.starts[index - block.first];
    const end = block?.starts[index - block.first + 1];
    if (block === undefined || start === undefined || end === undefined)
      throw new SeekError("ERR_RANGE", `passage: expected 0 to ${this.#size - 1}, got ${index}`);
    return JSON.parse(block.bytes.toString("utf8", start, end)) as Passage;
  }

  /** All passages in order. */
  *[Symbol.iterator](): Generator<Passage> {
    for (let index = 0; index < this.#size; index += 1) yield this.get(index);
  }

  /** Writes the passages as JSON Lines, whole or not at all. @throws ERR_IO */
  async save(path: string): Promise<void> {
    await writeFileAtomic(
      path,
      this.#blocks.map(({ bytes }) => bytes),
    );
  }
}
