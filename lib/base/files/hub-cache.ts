/** The cache of the Hugging Face hub, laid out as Python's huggingface_hub lays it out: what one has fetched the other finds. */
import { lstat, mkdir, rename, rm, symlink } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { hubCacheFolder } from "../disk/cache-folder.ts";
import { writeFileAtomic } from "./files.ts";
import { findText } from "./regular-file.ts";

const commitPattern = /^[0-9a-f]{40}$/;

/** Whether a revision is a whole commit, which never names anything else. */
export const isCommit = (revision: string): boolean => commitPattern.test(revision);

/** A repository's part of the cache: `blobs` by checksum, `refs` from names to commits, `snapshots` of links to blobs. */
export class CachedRepository {
  readonly folder: string;

  /**
   * @param root - the cache's folder
   * @param place - what it holds, and `OWNER/NAME`
   */
  constructor(root: string, { kind, id }: { readonly kind: "model" | "dataset"; readonly id: string }) {
    this.folder = join(root, `${kind}s--${id.replace("/", "--")}`);
  }

  /** The commit that a revision named when it was last asked for; undefined where that never was. */
  async commitOf(revision: string): Promise<string | undefined> {
    if (commitPattern.test(revision)) return revision;
    const text = (await findText(this.#ref(revision))) ?? "";
    return commitPattern.test(text.trim()) ? text.trim() : undefined;
  }

  /** Notes which commit a branch or tag names. */
  async note(revision: string, commit: string): Promise<void> {
    // The cache may be one that is only read.
    if ((await this.commitOf(revision)) === commit) return;
    await mkdir(dirname(this.#ref(revision)), { recursive: true });
    await writeFileAtomic(this.#ref(revision), commit);
  }

  /** Where a commit's files are. */
  snapshot(commit: string): string {
    return join(this.folder, "snapshots", commit);
  }

  /** Where content of a checksum is. */
  blob(checksum: string): string {
    return join(this.folder, "blobs", checksum);
  }

  /** Takes a whole file as the content of a checksum. */
  async take(path: string, checksum: string): Promise<void> {
    await mkdir(dirname(this.blob(checksum)), { recursive: true });
    await rename(path, this.blob(checksum));
  }

  /** Puts a file of a commit in its place: a link to its content. */
  async link(commit: string, file: string, checksum: string): Promise<void> {
    const path = join(this.snapshot(commit), file);
    await mkdir(dirname(path), { recursive: true });
    const stands = await lstat(path).catch(() => undefined);
    if (stands !== undefined) await rm(path);
    await symlink(relative(dirname(path), this.blob(checksum)), path);
  }

  #ref(revision: string): string {
    return join(this.folder, "refs", ...revision.split("/"));
  }
}

/** A model of the hub, pinned. */
interface PinnedModel {
  readonly id: string;
  readonly commit: string;
}

/** The last part of a folder's path; of a model of the hub its name without the owner. */
export function folderName(folder: string): string {
  return basename(pinnedModel(folder)?.id ?? resolve(folder));
}

/** Which model of the hub a folder of the cache is; undefined for any other folder. */
export function pinnedModel(folder: string, root: string = hubCacheFolder()): PinnedModel | undefined {
  const { kind, id, commit, file } = pinnedPlace(folder, root) ?? {};
  return kind === "model" && id !== undefined && commit !== undefined && file === ""
    ? { id, commit }
    : undefined;
}

/** The address of a model, a GGUF file of one or a data set's file in the cache, which holds on every machine; undefined for any other path. */
export function pinnedAddress(path: string, root: string = hubCacheFolder()): string | undefined {
  const { kind, id, commit, file = "" } = pinnedPlace(path, root) ?? {};
  if (kind === "dataset" && file !== "") return `hf://datasets/${id}@${commit}/${file}`;
  if (kind === "model" && file === "") return `hf://${id}@${commit}`;
  // Other files of a model are none that a command takes.
  return kind === "model" && file.endsWith(".gguf") ? `hf://${id}@${commit}/${file}` : undefined;
}

interface PinnedPlace extends PinnedModel {
  readonly kind: string;
  /** Of a snapshot itself it is empty. */
  readonly file: string;
}

function pinnedPlace(path: string, root: string): PinnedPlace | undefined {
  const [place = "", inside, commit = "", ...more] = relative(resolve(root), resolve(path)).split(sep);
  const [, kind, owner, name] = /^(model|dataset)s--(.+?)--(.+)$/.exec(place) ?? [];
  const isSnapshot = inside === "snapshots" && commitPattern.test(commit);
  if (!isSnapshot || kind === undefined) return undefined;
  return { kind, id: `${owner}/${name}`, commit, file: more.join("/") };
}
