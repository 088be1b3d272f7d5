/** What the hub holds, fetched into the cache that Python shares, once: resumed where it broke off, checked, pinned. */
import { rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { native } from "../../../lib/base/addon/native.ts";
import { hubCacheFolder } from "../../../lib/base/disk/cache-folder.ts";
import { requireRoom, writeRefusal } from "../../../lib/base/disk/refused-write.ts";
import { codeOf, throwIfAborted } from "../../../lib/base/errors.ts";
import { type FolderLock, lockFolder } from "../../../lib/base/files/folder-lock.ts";
import { CachedRepository, isCommit } from "../../../lib/base/files/hub-cache.ts";
import { bytesOfPart, downloadFile } from "../files/download-file.ts";
import type { RemoteFile } from "../files/file-address.ts";
import { type Hub, type HubOptions, hubOf } from "../files/hub.ts";
import type { HubPlace } from "./hub-place.ts";
import { findKept, notKept } from "./kept-place.ts";
import { withRemedy } from "./remedy.ts";
import { filesOfModel, type HubFile, isWeights, oneFile, readRepository } from "./repository.ts";

/** How a model is fetched. */
export interface FetchModelOptions extends HubOptions {
  /** The cache's folder. @default that of Python's huggingface_hub: `HF_HUB_CACHE`, `HF_HOME` */
  readonly cache?: string | undefined;
  /** Asks nobody: what is there is used. @default whether `HF_HUB_OFFLINE` is 1 */
  readonly offline?: boolean | undefined;
  /** Called with the bytes that are there, and those of all files together. */
  readonly onBytes?: ((numBytes: number, totalBytes: number) => void) | undefined;
  /** Called once when another process fetches the same model, and is waited for. */
  readonly onWait?: ((message: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A model that is there. */
export interface FetchedModel {
  /** The model's folder, or the one file of it. */
  readonly path: string;
  /** The commit of its repository. */
  readonly commit: string;
  /** Bytes that came over the network. */
  readonly numBytes: number;
}

const isOn = (text = ""): boolean => /^(1|on|yes|true)$/i.test(text);

/** Fetches a model, or one file of a repository. @throws ERR_REMOTE, ERR_IO, ERR_ARGUMENT, ERR_ABORTED */
export async function fetchPlace(place: HubPlace, options: FetchModelOptions): Promise<FetchedModel> {
  const { cache = hubCacheFolder(), offline = isOn(process.env.HF_HUB_OFFLINE) } = options;
  const cached = new CachedRepository(cache, place);
  // A branch may have moved on; a commit is what it is.
  const kept = offline || isCommit(place.revision) ? await findKept(place, cached) : undefined;
  if (kept !== undefined) return { ...kept, numBytes: 0 };
  if (offline) throw await notKept(place, cached);
  const hub = hubOf(options);
  const repository = await readRepository(place, hub, options.signal).catch((error) => {
    throw withRemedy(error, place, hub, false);
  });
  const { commit } = repository;
  const files =
    place.file === undefined ? filesOfModel(repository, place.id) : oneFile(repository, place.id, place.file);
  const download = new PlaceDownload(place, commit, cached, hub, options);
  const numBytes = await download.run(files).catch((error) => {
    throw writeRefusal(error, cached.folder) ?? withRemedy(error, place, hub, true);
  });
  await cached.note(place.revision, commit);
  return { path: join(cached.snapshot(commit), place.file ?? ""), commit, numBytes };
}

/** What is missing, on its way into the cache. */
class PlaceDownload {
  readonly #place: HubPlace;
  readonly #commit: string;
  readonly #cached: CachedRepository;
  readonly #hub: Hub;
  readonly #options: FetchModelOptions;

  constructor(
    place: HubPlace,
    commit: string,
    cached: CachedRepository,
    hub: Hub,
    options: FetchModelOptions,
  ) {
    this.#place = place;
    this.#commit = commit;
    this.#cached = cached;
    this.#hub = hub;
    this.#options = options;
  }

  /** @returns bytes that came */
  async run(files: readonly HubFile[]): Promise<number> {
    // Many share a cache that they may only read.
    if (await this.#isWhole(files)) return 0;
    using _lock = await this.#lock();
    const missing: HubFile[] = [];
    for (const file of files) if (!(await this.#isThere(file))) missing.push(file);
    const total = missing.reduce((sum, { numBytes }) => sum + numBytes, 0);
    requireRoom(this.#cached.folder, await this.#numBytesToCome(missing));
    let before = 0;
    for (const file of missing) {
      await this.#fetch(file, (numBytes) => this.#options.onBytes?.(before + numBytes, total));
      before += file.numBytes;
    }
    // A folder with its weights is taken for whole, so they come to stand in it last.
    const ordered = [...files].sort((a, b) => Number(isWeights(a.name)) - Number(isWeights(b.name)));
    for (const { name, checksum } of ordered) await this.#cached.link(this.#commit, name, checksum.hex);
    return total;
  }

  /** By its size: what is in the cache had its checksum when it came. */
  async #isThere({ checksum, numBytes }: HubFile): Promise<boolean> {
    const found = await stat(this.#cached.blob(checksum.hex)).catch(() => undefined);
    return found?.size === numBytes;
  }

  /** Whether every file stands in the commit's folder. */
  async #isWhole(files: readonly HubFile[]): Promise<boolean> {
    const folder = this.#cached.snapshot(this.#commit);
    const isThere = ({ name, numBytes }: HubFile) =>
      stat(join(folder, name)).then(
        ({ size }) => size === numBytes,
        () => false,
      );
    return (await Promise.all(files.map(isThere))).every(Boolean);
  }

  /** Of what an earlier call broke off in, the rest. */
  async #numBytesToCome(missing: readonly HubFile[]): Promise<number> {
    let numBytes = 0;
    for (const file of missing) {
      const numThere = await bytesOfPart(this.#remote(file), this.#parts);
      numBytes += Math.max(0, file.numBytes - numThere);
    }
    return numBytes;
  }

  #remote({ name, checksum, numBytes }: HubFile): RemoteFile {
    const { endpoint, token } = this.#hub;
    const place = name.split("/").map(encodeURIComponent).join("/");
    const { kind, id } = this.#place;
    const root = kind === "model" ? id : `datasets/${id}`;
    const url = new URL(`${endpoint}/${root}/resolve/${this.#commit}/${place}`);
    return { url, token, checksum, numBytes };
  }

  async #fetch(file: HubFile, onBytes: (numBytes: number) => void): Promise<void> {
    const how = { folder: this.#parts, onBytes, signal: this.#options.signal };
    const { path } = await downloadFile(this.#remote(file), how);
    await this.#cached.take(path, file.checksum.hex);
    await rm(dirname(path), { recursive: true, force: true });
  }

  /** Where files grow; what breaks off is gone on with from there. */
  get #parts(): string {
    return join(this.#cached.folder, ".seekrl");
  }

  /** Ranks of one machine begin at once: one fetches, the others wait for it. */
  async #lock(): Promise<FolderLock> {
    const { onWait, signal } = this.#options;
    // An addon that is missing is ERR_STATE as well, and no other process will give it up.
    native();
    for (let isFirst = true; ; isFirst = false) {
      try {
        return await lockFolder(this.#parts);
      } catch (error) {
        if (codeOf(error) !== "ERR_STATE") throw error;
        if (isFirst) onWait?.((error as Error).message);
      }
      throwIfAborted(signal, this.#place.id);
      await delay(200);
    }
  }
}
