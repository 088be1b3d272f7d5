/** Vectors of a long build, written as they come: a killed build goes on where the file ends. */
import type { Handle } from "../base/addon/handle.ts";
import { native } from "../base/addon/native.ts";
import type { VectorFormat } from "./vector-index.ts";

/**
 * Appends vectors to `path`.part; `finish` gives the file its name, under which it is an exact
 * {@link VectorIndex}: searched itself, read by a graph that is built, or used to score candidates again.
 */
export class VectorRowsWriter {
  readonly #handle: Handle<"vectorRowsWriter">;

  private constructor(writer: Handle<"vectorRowsWriter">) {
    this.#handle = writer;
  }

  /**
   * Begins a file or goes on with what an earlier build left.
   *
   * @param path where the finished file is to stand
   * @param format width, metric and stored form of the vectors
   * @returns the writer, whose `size` says how many vectors are there already
   * @throws ERR_IO; ERR_ARGUMENT when the part holds vectors of another format; ERR_FORMAT when it is damaged
   * @example
   * const writer = await VectorRowsWriter.open("rows.bin", { dim: 2, dtype: "f32" });
   * if (writer.size === 0) await writer.add(new Float32Array([1, 0, 0, 1]));
   * await writer.finish();
   */
  static async open(path: string, format: VectorFormat): Promise<VectorRowsWriter> {
    const { dim, metric = "cos", dtype = "bf16" } = format;
    return new VectorRowsWriter(await native().vectorRowsWriterOpen(path, { dim, metric, dtype }));
  }

  /** How many vectors are on the disk. @throws ERR_STATE after close */
  get size(): number {
    return native().vectorRowsWriterCount(this.#handle);
  }

  /**
   * Appends vectors; once it has settled, no kill takes them back. Wait for it before the next call.
   *
   * @param vectors f32 [N, dim], row-major; copied before this returns
   * @throws ERR_SHAPE, ERR_RANGE for values that are not finite, ERR_IO, ERR_STATE after finish
   */
  async add(vectors: Float32Array): Promise<void> {
    await native().vectorRowsWriterAdd(this.#handle, vectors);
  }

  /** Completes the file with its checksum and gives it its name. @throws ERR_IO, ERR_STATE after finish */
  async finish(): Promise<void> {
    await native().vectorRowsWriterFinish(this.#handle);
  }

  /** Closes the file; what is not finished stays for the next `open`. */
  close(): void {
    native().vectorRowsWriterClose(this.#handle);
  }
}
