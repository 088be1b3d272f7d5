/** A file that grows with a run and is cut back to its length at the last checkpoint on resume. */
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { SeekError } from "../../base/errors.ts";

/** One file of a run; `bytes` at a checkpoint says where to go on. */
export class GrowingFile {
  readonly #file: FileHandle;
  readonly #path: string;
  #bytes: number;

  private constructor(file: FileHandle, path: string, bytes: number) {
    this.#file = file;
    this.#path = path;
    this.#bytes = bytes;
  }

  /**
   * Opens a file and drops everything after `bytes`: what belongs to steps that will be run again, or was cut by a kill.
   *
   * @param path - the file, made when missing
   * @param bytes - its length at the checkpoint; 0 begins anew
   * @returns the file, to be closed
   * @throws ERR_IO when the file system refuses; ERR_FORMAT when the file is shorter than it was at the checkpoint
   */
  static async open(path: string, bytes: number): Promise<GrowingFile> {
    try {
      await mkdir(dirname(path), { recursive: true });
      const file = await open(path, "a+");
      const { size } = await file.stat();
      if (size < bytes) {
        await file.close();
        throw new SeekError("ERR_FORMAT", `${path}: expected at least ${bytes} bytes, got ${size}`);
      }
      await file.truncate(bytes);
      return new GrowingFile(file, path, bytes);
    } catch (cause) {
      if (cause instanceof SeekError) throw cause;
      throw new SeekError("ERR_IO", `${path}: cannot be opened: ${(cause as Error).message}`, { cause });
    }
  }

  /** Length after all that was appended. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds bytes at the end. @throws ERR_IO */
  async append(content: Uint8Array): Promise<void> {
    await this.#file.appendFile(content).catch((cause: unknown) => {
      const reason = (cause as Error).message;
      throw new SeekError("ERR_IO", `${this.#path}: cannot be written: ${reason}`, { cause });
    });
    this.#bytes += content.length;
  }

  /** Waits until all of it is on the disk. */
  async sync(): Promise<void> {
    await this.#file.sync();
  }

  /** Gives the file back; what was appended stays. */
  async close(): Promise<void> {
    await this.#file.close();
  }
}
