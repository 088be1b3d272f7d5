/** A file of JSON lines that grows with a run and is cut back to the last checkpoint on resume. */
import { GrowingFile } from "./growing-file.ts";

/** One log of a run; `bytes` at a checkpoint says where to go on. */
export class LineLog {
  readonly #file: GrowingFile;

  private constructor(file: GrowingFile) {
    this.#file = file;
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
    return new LineLog(await GrowingFile.open(path, bytes));
  }

  /** Length after all lines so far. */
  get bytes(): number {
    return this.#file.bytes;
  }

  /** Adds one line per row. @throws ERR_IO */
  async append(...rows: readonly object[]): Promise<void> {
    await this.#file.append(Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join("")));
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
