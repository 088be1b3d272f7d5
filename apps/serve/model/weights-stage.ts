/** Files of weights that are sent one by one, kept until they are whole and read. */
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Refusal, refused } from "../http/refusal.ts";

/** Names that a model's or an adapter's folder has, and no other path. */
const fileNames = /^(adapter_)?(config\.json|model(-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?)$/;

/** Of uploads, which clients choose. */
const uploadNames = /^[\w-]{1,64}$/;

/** What clients have left behind goes when so many others have begun. */
const mostUploads = 8;

/** Uploads, each a folder among this machine's temporary files. */
export class WeightsStage {
  readonly #folder: string;
  readonly #maxBytes: number;
  /** The oldest first. */
  readonly #uploads = new Set<string>();

  private constructor(folder: string, maxBytes: number) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  /** @param maxBytes - of one file */
  static async open(maxBytes: number): Promise<WeightsStage> {
    return new WeightsStage(await mkdtemp(join(tmpdir(), "seekrl-weights-")), maxBytes);
  }

  /** Where the files of an upload stand. @throws Refusal for one that was not begun, or has been read or left too long */
  folderOf(upload: string): string {
    if (this.#uploads.has(upload)) return join(this.#folder, upload);
    throw refused(["upload"], `expected one that was sent, got ${upload.slice(0, 64)}`);
  }

  /**
   * Keeps a file once it is whole.
   *
   * @param upload - that it belongs to
   * @param name - of the file
   * @param incoming - its bytes
   * @throws Refusal for another name, for too many bytes and for fewer than were announced
   */
  async add(upload: string, name: string, incoming: IncomingMessage, signal: AbortSignal): Promise<void> {
    if (!fileNames.test(name)) {
      const expected = "a config or safetensors file of a model or an adapter";
      throw refused(["file"], `expected ${expected}, got ${name.slice(0, 100)}`);
    }
    const folder = await this.#begin(upload);
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

  /** Forgets an upload. */
  async drop(upload: string): Promise<void> {
    this.#uploads.delete(upload);
    await rm(join(this.#folder, upload), { recursive: true, force: true });
  }

  /** Forgets all. */
  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #begin(upload: string): Promise<string> {
    if (!uploadNames.test(upload)) {
      const expected = "up to 64 letters, digits, - and _";
      throw refused(["upload"], `expected ${expected}, got ${upload.slice(0, 100)}`);
    }
    this.#uploads.add(upload);
    const [oldest] = this.#uploads;
    if (this.#uploads.size > mostUploads && oldest !== undefined) await this.drop(oldest);
    const folder = join(this.#folder, upload);
    await mkdir(folder, { recursive: true });
    return folder;
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
