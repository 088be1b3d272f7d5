/** Files fetched into a cache: resumed where they broke off, checked before they count as there. */
import { createHash, type Hash } from "node:crypto";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import type { z } from "zod";
import { isOfDisk, refusedWrite } from "../../../lib/base/disk/refused-write.ts";
import { SeekError, throwIfAborted } from "../../../lib/base/errors.ts";
import { writeFileAtomic } from "../../../lib/base/files/files.ts";
import { lockFolder } from "../../../lib/base/files/folder-lock.ts";
import { readText, streamOf } from "../../../lib/base/files/regular-file.ts";
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import { Fault } from "../fault.ts";
import { Guard } from "../guard.ts";
import { shownUrl } from "../network/proxy.ts";
import { unescaped } from "./address-parts.ts";
import type { Checksum } from "./checksum.ts";
import type { RemoteFile } from "./file-address.ts";
import { type FileAnswer, requestFile, UnfitPart } from "./file-request.ts";

/** How a file is fetched. */
interface DownloadFileOptions {
  /** Of the cache. */
  readonly folder: string;
  /** Called with the bytes that are there, and those of the whole where they are known. */
  readonly onBytes?: ((numBytes: number, totalBytes: number | undefined) => void) | undefined;
  /** Silence on the line for so long ends an attempt, milliseconds. @default 30_000 */
  readonly timeoutMs?: number;
  /** Attempts after one that brought bytes, or after the first; each goes on where the last broke off. @default 5 */
  readonly retries?: number;
  readonly signal?: AbortSignal | undefined;
}

/** A file that is there. */
interface DownloadedFile {
  readonly path: string;
  readonly sha256: string;
  /** What it was checked against; `size` where the server names no checksum and the caller none. */
  readonly checkedBy: Checksum["kind"] | "size";
  readonly isFromCache: boolean;
}

const entrySchema = lazySchema((z) =>
  z.object({ sha256: z.string(), checkedBy: z.enum(["sha256", "git-sha1", "size"]) }),
);
const partSchema = lazySchema((z) => z.object({ tag: z.string() }));

async function readEntry<Entry>(path: string, schema: z.ZodType<Entry>): Promise<Entry | undefined> {
  try {
    return schema.safeParse(JSON.parse(await readText(path))).data;
  } catch {
    return undefined;
  }
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );

/** A hash of each kind over one reading. */
async function hashesOf(path: string): Promise<Readonly<Record<Checksum["kind"], string>>> {
  const sha256 = createHash("sha256");
  const git = createHash("sha1").update(`blob ${await sizeOf(path)}\0`);
  const hashes: Hash[] = [sha256, git];
  for await (const chunk of await streamOf(path, { highWaterMark: 1 << 20 }))
    for (const hash of hashes) hash.update(chunk as Buffer);
  return { sha256: sha256.digest("hex"), "git-sha1": git.digest("hex") };
}

/** One file on its way: `NAME.part` grows beside `part.json`, which says what it is a part of. */
class Download {
  readonly #file: RemoteFile;
  readonly #options: DownloadFileOptions;
  readonly #folder: string;
  readonly #path: string;
  /** Bytes that the part had at most. */
  #numBytesThere = 0;
  /** Whether the part was begun in this call. */
  #isOwn = false;

  constructor(file: RemoteFile, options: DownloadFileOptions) {
    this.#file = file;
    this.#options = options;
    const key = createHash("sha256").update(file.url.href).digest("hex").slice(0, 16);
    this.#folder = join(options.folder, key);
    const name = basename(file.url.pathname);
    this.#path = join(this.#folder, (unescaped(name) ?? name).replaceAll("/", "_") || "file");
  }

  get #part(): string {
    return `${this.#path}.part`;
  }

  get #partEntry(): string {
    return join(this.#folder, "part.json");
  }

  get #entry(): string {
    return join(this.#folder, "file.json");
  }

  /** One process at a time grows the part. */
  get folder(): string {
    return this.#folder;
  }

  /** The file of an earlier call, if its bytes are still the same. */
  async cached(): Promise<DownloadedFile | undefined> {
    const entry = await readEntry(this.#entry, entrySchema());
    if (entry === undefined || (await sizeOf(this.#path)) === undefined) return undefined;
    const hashes = await hashesOf(this.#path);
    if (hashes.sha256 !== entry.sha256) return undefined;
    const { checksum } = this.#file;
    if (checksum === undefined) return { path: this.#path, ...entry, isFromCache: true };
    if (hashes[checksum.kind] !== checksum.hex) return undefined;
    return { path: this.#path, sha256: hashes.sha256, checkedBy: checksum.kind, isFromCache: true };
  }

  /** Bytes of the part, of whatever content. */
  async bytesOfPart(): Promise<number> {
    return (await sizeOf(this.#part)) ?? 0;
  }

  /** One attempt; what came before it broke off stays. */
  async fetch(signal: AbortSignal): Promise<DownloadedFile> {
    const entry = await readEntry(this.#partEntry, partSchema());
    const from = entry === undefined ? 0 : await this.bytesOfPart();
    if (this.#isWhole(from, entry?.tag)) return this.#finish(undefined);
    const timeoutMs = this.#options.timeoutMs ?? 30_000;
    try {
      const answer = await requestFile(this.#file, { from, timeoutMs, signal });
      await this.#goOn(answer, entry?.tag);
      return await this.#finish(answer.checksum);
    } catch (error) {
      if (error instanceof UnfitPart) await this.#discard();
      throw error;
    }
  }

  /** Bytes of the file that came so far, in this call. */
  get numBytesThere(): number {
    return this.#numBytesThere;
  }

  /** Whether nothing is missing of a part of the caller's content, so that nobody need be asked. */
  #isWhole(from: number, tag: string | undefined): boolean {
    const { checksum, numBytes } = this.#file;
    return checksum !== undefined && tag === checksum.hex && from === numBytes;
  }

  async #goOn(answer: FileAnswer, tag: string | undefined): Promise<void> {
    const { body, start } = answer;
    try {
      if (start > 0 && answer.tag !== tag)
        throw new UnfitPart(this.#file.url, "the file has changed since its first part came");
      if (body !== undefined) await this.#receive({ ...answer, body });
    } finally {
      body?.destroy();
    }
  }

  get #name(): string {
    return shownUrl(this.#file.url);
  }

  async #receive({ body, start, numBytes, tag }: FileAnswer & { readonly body: Readable }): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    if (start === 0) await this.#begin(tag);
    const part = await open(this.#part, start === 0 ? "w" : "a");
    let received = start;
    try {
      for await (const chunk of body) {
        await part.writeFile(chunk as Buffer);
        received += (chunk as Buffer).length;
        this.#numBytesThere = Math.max(this.#numBytesThere, received);
        this.#options.onBytes?.(received, numBytes);
      }
      await part.sync();
    } finally {
      await part.close();
    }
    if (numBytes !== undefined && received !== numBytes)
      throw new Fault(`${this.#name}: expected ${numBytes} bytes, got ${received}`, { mayRetry: true });
  }

  async #begin(tag: string | undefined): Promise<void> {
    await this.#discard();
    this.#isOwn = true;
    if (tag !== undefined) await writeFileAtomic(this.#partEntry, JSON.stringify({ tag }));
  }

  async #discard(): Promise<void> {
    await rm(this.#part, { force: true });
    await rm(this.#partEntry, { force: true });
  }

  async #finish(told: Checksum | undefined): Promise<DownloadedFile> {
    const hashes = await hashesOf(this.#part);
    const wanted = this.#file.checksum ?? told;
    if (wanted !== undefined && hashes[wanted.kind] !== wanted.hex) {
      await this.#discard();
      const actual = hashes[wanted.kind];
      const what = `${this.#name}: expected content with ${wanted.kind} ${wanted.hex}, got ${actual}`;
      // What an earlier call left may be at fault, after a power cut for example.
      throw new Fault(what, { mayRetry: !this.#isOwn });
    }
    const entry = { sha256: hashes.sha256, checkedBy: wanted?.kind ?? ("size" as const) };
    await rm(this.#path, { force: true });
    const { origin, pathname } = this.#file.url;
    await writeFileAtomic(this.#entry, JSON.stringify({ url: `${origin}${pathname}`, ...entry }));
    await rename(this.#part, this.#path);
    await rm(this.#partEntry, { force: true });
    return { path: this.#path, ...entry, isFromCache: false };
  }
}

/** Breaks in the line are worth another attempt; a full disk is not. */
function fault(cause: unknown, name: string, folder: string, signal: AbortSignal): unknown {
  if (cause instanceof SeekError || signal.aborted) return cause;
  if (isOfDisk(cause))
    return new SeekError("ERR_IO", `${name}: ${refusedWrite(folder, cause).message}`, { cause });
  const { code, message } = cause as NodeJS.ErrnoException;
  return new Fault(`${name}: ${message || code}`, { cause, mayRetry: true });
}

/** Bytes that an earlier call left of a file: they take no more room. */
export function bytesOfPart(file: RemoteFile, folder: string): Promise<number> {
  return new Download(file, { folder }).bytesOfPart();
}

const day = 24 * 3_600_000;

/**
 * Fetches a file into the cache, once: a second call finds it there and asks nobody. What breaks off is resumed, in this
 * call and in later ones, as long as the server still has the same file. The file appears when it is whole and its
 * content has the checksum that the caller or the hub names.
 *
 * @param file - see `remoteFile`
 * @param options - the cache's folder, progress, patience
 * @returns where the file is, and what it was checked against
 * @throws ERR_REMOTE when it cannot be had or has another checksum, ERR_STATE when another process fetches it, ERR_IO,
 *   ERR_ABORTED
 */
export async function downloadFile(file: RemoteFile, options: DownloadFileOptions): Promise<DownloadedFile> {
  const name = shownUrl(file.url);
  throwIfAborted(options.signal, name);
  const download = new Download(file, options);
  const found = await download.cached();
  if (found !== undefined) return found;
  const guard = new Guard(name, { deadlineMs: day, retries: options.retries ?? 5, breakAfter: 1000 });
  const attempt = async (signal: AbortSignal): Promise<DownloadedFile> => {
    try {
      return await download.fetch(signal);
    } catch (cause) {
      throw fault(cause, name, download.folder, signal);
    }
  };
  using _lock = await lockFolder(download.folder);
  return await guard.run(attempt, options.signal, () => download.numBytesThere);
}
