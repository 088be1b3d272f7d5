/** Files of weights that are sent one by one, kept until their version is whole and read. */
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Refusal, refused } from "../http/refusal.ts";

/** Names that a model's or an adapter's folder has, and no other path. */
const fileNames = /^(adapter_)?(config\.json|model(-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?)$/;

/** A folder of this machine's temporary files. */
export class WeightsStage {
  readonly #folder: string;
  readonly #maxBytes: number;

  private constructor(folder: string, maxBytes: number) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  /** @param maxBytes - of one file */
  static async open(maxBytes: number): Promise<WeightsStage> {
    return new WeightsStage(await mkdtemp(join(tmpdir(), "seekrl-weights-")), maxBytes);
  }

  /** Where the files of a version stand. */
  folderOf(version: number): string {
    return join(this.#folder, String(version));
  }

  /**
   * Keeps a file once it is whole.
   *
   * @param version - that it belongs to
   * @param name - of the file
   * @param incoming - its bytes
   * @throws Refusal for another name, for too many bytes and for fewer than were announced
   */
  async add(version: number, name: string, incoming: IncomingMessage, signal: AbortSignal): Promise<void> {
    if (!fileNames.test(name)) {
      const expected = "a config or safetensors file of a model or an adapter";
      throw refused(["file"], `expected ${expected}, got ${name.slice(0, 100)}`);
    }
    const folder = this.folderOf(version);
    await mkdir(folder, { recursive: true });
    const part = join(folder, `${name}.part`);
    try {
      await pipeline(incoming, bounded(this.#maxBytes), createWriteStream(part), { signal });
      await rename(part, join(folder, name));
    } catch (cause) {
      await rm(part, { force: true });
      if (cause instanceof Refusal) throw cause;
      throw signal.aborted ? signal.reason : new Refusal("client_gone", "body: connection closed", { cause });
    }
  }

  /** Forgets the files of a version, and what is left of those before. */
  async drop(version: number): Promise<void> {
    const old = (await readdir(this.#folder)).filter((each) => Number(each) <= version);
    await Promise.all(old.map((each) => rm(join(this.#folder, each), { recursive: true, force: true })));
  }

  /** Forgets all. */
  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function bounded(maxBytes: number): Transform {
  let numBytes = 0;
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      numBytes += chunk.length;
      const isTooLarge = numBytes > maxBytes;
      const refusal = new Refusal("body_too_large", `body: expected at most ${maxBytes} bytes, got more`);
      done(isTooLarge ? refusal : null, chunk);
    },
  });
}
