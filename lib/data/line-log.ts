/** A file of JSON lines that grows with a run and is cut back to the last checkpoint on resume. */
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { SeekError } from "../base/errors.ts";

/** One log of a run; `bytes` at a checkpoint says where to go on. */
export class LineLog {
  readonly #file: FileHandle;
  readonly #path: string;
  #bytes: number;

  private constructor(file: FileHandle, path: string, bytes: number) {
    this.#file = file;
    this.#path = path;
    this.#bytes = bytes;
  }

  /**
   * Opens a log and drops everything after `bytes`: lines of steps that will be run again, and a line cut by a kill.
   *
   * @param path - the file, made when missing
   * @param bytes - its length at the checkpoint; 0 begins anew
   * @returns the log, to be closed
   * @throws ERR_IO when the file system refuses; ERR_FORMAT when the file is shorter than it was at the checkpoint
   */
  static async open(path: string, bytes: number): Promise<LineLog> {
    try {
      await mkdir(dirname(path), { recursive: true });
      const file = await open(path, "a+");
      const { size } = await file.stat();
      if (size < bytes) {
        await file.close();
        throw new SeekError("ERR_FORMAT", `${path}: expected at least ${bytes} bytes, got ${size}`);
      }
      await file.truncate(bytes);
      return new LineLog(file, path, bytes);
    } catch (cause) {
      if (cause instanceof SeekError) throw cause;
      throw new SeekError("ERR_IO", `${path}: cannot be opened: ${(cause as Error).message}`, { cause });
    }
  }

  /** Length after all lines so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds one line per row. @throws ERR_IO */
  async append(...rows: readonly object[]): Promise<void> {
    const text = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    await this.#file.appendFile(text).catch((cause: unknown) => {
      throw new SeekError("ERR_IO", `${this.#path}: cannot be written: ${(cause as Error).message}`, {
        cause,
      });
    });
    this.#bytes += text.length;
  }

  /** Waits until all lines are on the disk. */
  async sync(): Promise<void> {
    await this.#file.sync();
  }

  /** Gives the file back; lines that were appended stay. */
  async close(): Promise<void> {
    await this.#file.close();
  }
}
