/** A file of this machine as a Blob: read in pieces when it is sent, however large it is. */
import { buffer } from "node:stream/consumers";
import { ReadableStream } from "node:stream/web";
import { streamOf } from "../../../../lib/base/files/regular-file.ts";

/** Which bytes of the file are meant; `end` is the first that is not. */
interface Part {
  readonly start: number;
  readonly end: number;
  /** Called with the bytes read so far, each time that the part is read. */
  readonly onBytes?: ((numBytes: number) => void) | undefined;
}

/** A file, or a part of one. */
export class LocalFile extends Blob {
  override readonly size: number;
  readonly #path: string;
  readonly #part: Part;

  /**
   * @param path - of the file
   * @param part - its bytes
   */
  constructor(path: string, part: Part) {
    super([]);
    this.size = part.end - part.start;
    this.#path = path;
    this.#part = part;
  }

  /** The same bytes, with word of how many were read. */
  counted(onBytes: (numBytes: number) => void): LocalFile {
    return new LocalFile(this.#path, { ...this.#part, onBytes });
  }

  override slice(from = 0, to = this.size): LocalFile {
    const { start } = this.#part;
    return new LocalFile(this.#path, { start: start + from, end: start + Math.min(to, this.size) });
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    return Uint8Array.from(await buffer(this.#pieces())).buffer;
  }

  override async text(): Promise<string> {
    return (await buffer(this.#pieces())).toString("utf8");
  }

  override stream(): ReturnType<Blob["stream"]> {
    return ReadableStream.from(this.#pieces()) as ReturnType<Blob["stream"]>;
  }

  async *#pieces(): AsyncGenerator<Uint8Array> {
    const { start, end, onBytes } = this.#part;
    if (start === end) return;
    let numBytes = 0;
    for await (const piece of await streamOf(this.#path, { start, end: end - 1, highWaterMark: 1 << 18 })) {
      numBytes += (piece as Buffer).length;
      yield piece as Buffer;
      onBytes?.(numBytes);
    }
  }
}
