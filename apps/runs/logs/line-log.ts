/** A file of lines that somebody else is writing: what was added since the last look, and whether it was cut back. */
import type { FileHandle } from "node:fs/promises";
import { SeekError } from "../../../lib/base/errors.ts";
import { findRegular } from "../../../lib/base/files/regular-file.ts";

/** Read at once; other work has its turn between two pieces. */
const pieceBytes = 1 << 17;
/** Of the end of what was read: when these bytes are others, the file is not what it was. */
const tailBytes = 256;
const lineFeed = 10;

/** Told of what is read. */
interface LineReader {
  /** A whole line without its line feed, and where it begins in the file. The bytes are valid during the call only. */
  onLine(line: Buffer, offset: number): void;
  /** The file was cut back or replaced: lines come anew from the first one. */
  onReset(): void;
}

/** The lines of a growing file. A last line without a line feed is half written, and waits. */
export class LineLog {
  readonly path: string;
  readonly #folder: string | undefined;
  readonly #reader: LineReader;
  /** Bytes of whole lines that were read. */
  #end = 0;
  #size = 0;
  #tail = Buffer.alloc(0);
  #inode = 0;
  #work: Promise<void> | undefined;

  /**
   * @param path - which need not be there yet
   * @param reader - is told of the lines
   * @param folder - that no link of that name may lead out of; none where the file itself was named
   */
  constructor(path: string, reader: LineReader, folder?: string) {
    this.path = path;
    this.#folder = folder;
    this.#reader = reader;
  }

  /** Bytes of the whole lines that were read so far. */
  get readBytes(): number {
    return this.#end;
  }

  /** Bytes of the file when it was last looked at. */
  get totalBytes(): number {
    return this.#size;
  }

  /**
   * Reads what was added; calls while one is under way wait for the same.
   *
   * @throws ERR_IO when the file is there and cannot be read
   */
  refresh(): Promise<void> {
    this.#work ??= this.#refresh().finally(() => {
      this.#work = undefined;
    });
    return this.#work;
  }

  /** Bytes of the file. @throws ERR_IO when it cannot be read, or ends before them */
  async read(offset: number, length: number): Promise<Buffer> {
    const [bytes = Buffer.alloc(0)] = await this.readAll([[offset, length]]);
    return bytes;
  }

  /**
   * Parts of the file, which is opened once.
   *
   * @param spans - each the first byte, and how many
   * @throws ERR_IO when the file cannot be read, or ends before them
   */
  async readAll(spans: readonly (readonly [offset: number, bytes: number])[]): Promise<Buffer[]> {
    const file = await this.#open();
    if (file === undefined) throw new SeekError("ERR_IO", `${this.path}: no such file`);
    try {
      return await Promise.all(spans.map(([offset, bytes]) => this.#part(file, offset, bytes)));
    } finally {
      await file.close();
    }
  }

  async #part(file: FileHandle, offset: number, length: number): Promise<Buffer> {
    const bytes = await readAt(file, offset, length);
    if (bytes.length === length) return bytes;
    const what = `expected ${length} bytes at ${offset}, got ${bytes.length}`;
    throw new SeekError("ERR_IO", `${this.path}: ${what}: it was cut back meanwhile`);
  }

  #open(): Promise<FileHandle | undefined> {
    return findRegular(this.path, { within: this.#folder });
  }

  async #refresh(): Promise<void> {
    const file = await this.#open();
    if (file === undefined) return this.#reset(0);
    try {
      const { size, ino } = await file.stat();
      if (!(await this.#isSame(file, size, ino))) this.#reset(ino);
      this.#inode = ino;
      this.#size = size;
      await this.#readLines(file, size);
    } finally {
      await file.close();
    }
  }

  /** Whether what was read still stands there. */
  async #isSame(file: FileHandle, size: number, inode: number): Promise<boolean> {
    if (this.#end === 0) return true;
    if (size < this.#end || inode !== this.#inode) return false;
    const bytes = await readAt(file, this.#end - this.#tail.length, this.#tail.length);
    return bytes.equals(this.#tail);
  }

  #reset(inode: number): void {
    if (this.#end > 0) this.#reader.onReset();
    this.#end = 0;
    this.#size = 0;
    this.#tail = Buffer.alloc(0);
    this.#inode = inode;
  }

  async #readLines(file: FileHandle, size: number): Promise<void> {
    let parts: Buffer[] = [];
    for (let at = this.#end; at < size; ) {
      const piece = await readAt(file, at, Math.min(pieceBytes, size - at));
      if (piece.length === 0) return;
      at += piece.length;
      // A line longer than a piece is put together once, when its end is there.
      if (piece.lastIndexOf(lineFeed) < 0) parts.push(piece);
      else {
        const rest = this.#take(parts.length === 0 ? piece : Buffer.concat([...parts, piece]));
        parts = rest.length === 0 ? [] : [rest];
      }
    }
  }

  /** Hands out the whole lines of what follows the last one; returns what is left. */
  #take(bytes: Buffer): Buffer {
    let start = 0;
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
      if (end > start) this.#reader.onLine(bytes.subarray(start, end), this.#end + start);
      start = end + 1;
    }
    const known = Buffer.concat([this.#tail, bytes.subarray(Math.max(0, start - tailBytes), start)]);
    this.#tail = Buffer.from(known.subarray(Math.max(0, known.length - tailBytes)));
    this.#end += start;
    return bytes.subarray(start);
  }
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}
