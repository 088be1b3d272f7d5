/** The one file that grows: what is appended is written in order, and a resumed program cuts it back to where it was. */
import { constants } from "node:fs";
import { type FileHandle, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { refusedWrite } from "../disk/refused-write.ts";
import { SeekError } from "../errors.ts";
import { isMissing, openOwn, openRegular } from "./regular-file.ts";

/**
 * An append-only file. Contents that are added while the disk is busy go with the next write, and so do flushes.
 *
 * @example
 * const journal = await Journal.open("runs/a/metrics.jsonl", 0);
 * await journal.add({ step: 1 });
 * await journal.close();
 */
export class Journal {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #pending: Uint8Array[] = [];
  #bytes: number;
  #isFlushed = true;
  /** Writes and flushes, one after the other; once one has failed, so do all that follow. */
  #work: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle, path: string, bytes: number) {
    this.#file = file;
    this.#path = path;
    this.#bytes = bytes;
  }

  /**
   * Opens a file and drops everything after `bytes`: what will be written again, or was cut by a kill.
   *
   * @param path - the file, made when missing
   * @param bytes - the length to go on from; 0 begins anew
   * @returns the journal, to be closed
   * @throws ERR_IO when the file system refuses; ERR_FORMAT when the file is shorter than that
   */
  static async open(path: string, bytes: number): Promise<Journal> {
    try {
      await mkdir(dirname(path), { recursive: true });
      const file = await openOwn(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);
      const { size } = await file.stat();
      if (size < bytes) {
        await file.close();
        throw new SeekError("ERR_FORMAT", `${path}: expected at least ${bytes} bytes, got ${size}`);
      }
      await file.truncate(bytes);
      return new Journal(file, path, bytes);
    } catch (cause) {
      if (cause instanceof SeekError) throw cause;
      throw refusedWrite(path, cause, "opened");
    }
  }

  /**
   * Opens a file of lines to go on behind those that it has; what a kill left of a last one is dropped.
   *
   * @param path - the file, made when missing
   * @returns the journal, to be closed
   * @throws ERR_IO
   */
  static async continued(path: string): Promise<Journal> {
    return Journal.open(path, await wholeLinesOf(path));
  }

  /** Length after all that was written so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds one JSON line per row; done when they are written. @throws ERR_IO */
  add(...rows: readonly object[]): Promise<void> {
    return this.append(Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join("")));
  }

  /** Adds bytes; done when they are written. @throws ERR_IO */
  append(content: Uint8Array): Promise<void> {
    this.#pending.push(content);
    return this.#then(() => this.#write());
  }

  /** Waits until all that was added is on the disk. @throws ERR_IO */
  sync(): Promise<void> {
    return this.#then(async () => {
      if (this.#isFlushed) return;
      this.#isFlushed = true;
      await this.#file.sync();
    });
  }

  /** Waits for what is being written, and gives the file back; what was added stays. */
  async close(): Promise<void> {
    await this.#work.catch(() => undefined);
    await this.#file.close();
  }

  #then(act: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(act).catch((cause: unknown) => {
      if (cause instanceof SeekError) throw cause;
      throw refusedWrite(this.#path, cause);
    });
    return this.#work;
  }

  async #write(): Promise<void> {
    const content = Buffer.concat(this.#pending.splice(0));
    if (content.length === 0) return;
    this.#isFlushed = false;
    await this.#file.appendFile(content);
    this.#bytes += content.length;
  }
}

const blockBytes = 1 << 16;

/** Bytes of a file up to the end of its last whole line; 0 where there is no file. @throws ERR_IO */
async function wholeLinesOf(path: string): Promise<number> {
  try {
    await using file = await openRegular(path);
    for (let end = (await file.stat()).size; end > 0; end -= blockBytes) {
      const start = Math.max(0, end - blockBytes);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
      const at = buffer.subarray(0, bytesRead).lastIndexOf(10);
      if (at >= 0) return start + at + 1;
    }
    return 0;
  } catch (cause) {
    if (isMissing(cause)) return 0;
    if (cause instanceof SeekError) throw cause;
    throw new SeekError("ERR_IO", `${path}: cannot be read: ${(cause as Error).message}`, { cause });
  }
}
