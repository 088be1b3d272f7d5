/** Passages by number, mapped from one file: opening reads no text, and a passage becomes an object when asked for. */

import type { Handle } from "../../base/addon/handle.ts";
import { native } from "../../base/addon/native.ts";
import { batchesOf } from "../../base/batches.ts";
import { checkArgument, checkOptions } from "../../base/check-options.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import type { Passage } from "./passage.ts";

/** Small enough that copying a batch to or from the native side holds up the event loop for a millisecond. */
const batchSize = 1024;

function passageAt(fields: readonly string[], at: number): Passage {
  const [id = "", title = "", text = ""] = fields.slice(at, at + 3);
  return { id, title, text };
}

/** UTF-16 that is not a text would silently become another text in UTF-8. */
function checkText({ id, title, text }: Passage): void {
  if (id.isWellFormed() && title.isWellFormed() && text.isWellFormed()) return;
  throw new SeekError(
    "ERR_ARGUMENT",
    `passage "${id.toWellFormed()}": expected Unicode, got half a surrogate pair`,
  );
}

/** Writes a passage store in bounded memory, whole or not at all. */
export class PassageWriter {
  readonly #handle: Handle<"passageWriter">;
  #size = 0;
  #isBusy = false;

  private constructor(handle: Handle<"passageWriter">) {
    this.#handle = handle;
  }

  /**
   * Begins a store beside `path`, where it appears at {@link finish}.
   *
   * @param path the file, whose folder is there
   * @returns the writer, to be finished or closed
   * @throws ERR_IO
   */
  static create(path: string): PassageWriter {
    return new PassageWriter(native().passageWriterCreate(path));
  }

  /** How many passages were added. */
  get size(): number {
    return this.#size;
  }

  /**
   * Adds passages after those already there; wait for it before the next call.
   *
   * @param passages numbered in this order
   * @throws ERR_ARGUMENT for text that is not Unicode, ERR_IO, ERR_STATE after `finish` and `close` or while busy
   */
  async add(passages: readonly Passage[]): Promise<void> {
    for (const passage of passages) checkText(passage);
    await this.#alone(async () => {
      const fields = passages.flatMap(({ id, title, text }) => [id, title, text]);
      await native().passageWriterAdd(this.#handle, fields);
      this.#size += passages.length;
    });
  }

  /** Puts the store in its place. @throws ERR_IO, ERR_STATE */
  async finish(): Promise<void> {
    await this.#alone(() => native().passageWriterFinish(this.#handle));
  }

  /** Frees the writer; what is not finished leaves no trace. */
  close(): void {
    native().passageWriterClose(this.#handle);
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    if (this.#isBusy) throw new SeekError("ERR_STATE", "passages: the last call has not settled yet");
    this.#isBusy = true;
    try {
      await work();
    } finally {
      this.#isBusy = false;
    }
  }
}

/**
 * Writes passages as a store, whole or not at all.
 *
 * @param path the file
 * @param passages numbered in this order, taken as they come
 * @param options `signal` stops it between batches
 * @returns how many there were
 * @throws ERR_IO, ERR_ARGUMENT for text that is not Unicode, ERR_ABORTED, and whatever `passages` throws
 * @example
 * await writePassageStore("passages.bin", [{ id: "0", title: "Ada", text: "Ada wrote programs." }]);
 */
export async function writePassageStore(
  path: string,
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  options: { readonly signal?: AbortSignal } = {},
): Promise<number> {
  checkArgument("writePassageStore: path", path, "string");
  const { signal } = checkOptions("writePassageStore", options, { signal: "signal" });
  const writer = PassageWriter.create(path);
  try {
    for await (const batch of batchesOf(passages, batchSize)) {
      throwIfAborted(signal, path);
      await writer.add(batch);
    }
    await writer.finish();
    return writer.size;
  } finally {
    writer.close();
  }
}

/**
 * Passages numbered from 0, as the indexes number them.
 *
 * @example
 * await writePassageStore("passages.bin", [{ id: "0", title: "Ada", text: "Ada wrote programs." }]);
 * const store = await PassageStore.open("passages.bin");
 * console.log(store.size, store.get(0).title); // 1 Ada
 * store.close();
 */
export class PassageStore implements AsyncIterable<Passage> {
  /** How many passages there are. */
  readonly size: number;
  readonly #handle: Handle<"passageStore">;

  private constructor(handle: Handle<"passageStore">) {
    this.#handle = handle;
    this.size = native().passageStoreCount(handle);
  }

  /**
   * Maps a store.
   *
   * @param path what {@link writePassageStore} or a {@link PassageWriter} wrote
   * @param options `verify`: reads and checks every byte, `@default true`; `false` for a file that is known to be good
   * @returns the store, to be closed
   * @throws ERR_IO when the file cannot be read, ERR_FORMAT when it is damaged or something else
   */
  static async open(path: string, options: { readonly verify?: boolean } = {}): Promise<PassageStore> {
    checkArgument("PassageStore.open: path", path, "string");
    const { verify = true } = checkOptions("PassageStore.open", options, { verify: "boolean" });
    return new PassageStore(await native().passageStoreOpen(path, verify));
  }

  /** What native code that reads passages is given. @internal */
  get handle(): Handle<"passageStore"> {
    return this.#handle;
  }

  /**
   * One passage, read at once; the page it stands on may have to come from the disk.
   *
   * @param index its number, from 0
   * @throws ERR_RANGE when there is none, ERR_STATE after close
   */
  get(index: number): Passage {
    if (!Number.isInteger(index))
      throw new SeekError("ERR_RANGE", `passage: expected a whole number, got ${index}`);
    return passageAt(native().passageStoreGet(this.#handle, index), 0);
  }

  /**
   * Several passages, read away from the event loop.
   *
   * @param indices their numbers, in any order
   * @returns as many passages
   * @throws ERR_RANGE when there is none of a number, ERR_STATE after close
   */
  async getMany(indices: Int32Array): Promise<Passage[]> {
    const fields = await native().passageStoreGetMany(this.#handle, indices);
    return Array.from(indices, (_, i) => passageAt(fields, 3 * i));
  }

  /**
   * Looks ids up by reading all of them.
   *
   * @param ids what {@link Passage.id} is compared with
   * @returns the lowest number of a passage with each id, -1 where there is none
   * @throws ERR_STATE after close
   */
  async find(ids: readonly string[]): Promise<Int32Array> {
    return native().passageStoreFind(this.#handle, ids);
  }

  /** All passages in order. @throws ERR_STATE after close */
  async *[Symbol.asyncIterator](): AsyncGenerator<Passage> {
    for (let first = 0; first < this.size; first += batchSize) {
      const count = Math.min(batchSize, this.size - first);
      for (const passage of await this.getMany(Int32Array.from({ length: count }, (_, i) => first + i)))
        yield passage;
    }
  }

  /** Unmaps the file once running reads have ended; later calls throw ERR_STATE. */
  close(): void {
    native().passageStoreClose(this.#handle);
  }
}
