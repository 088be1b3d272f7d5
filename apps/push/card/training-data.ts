/** The files that a training read, by names and digests that hold elsewhere. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isAddress } from "../../../connectors/remote/files/file-address.ts";
import { digestOfFile } from "../../../lib/base/files/digests.ts";
import { findText } from "../../../lib/base/files/regular-file.ts";
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import { manifestFile } from "../../../lib/search/index-folder/manifest.ts";
import type { Settings } from "../../../lib/train/run/settings.ts";

/** A file or a folder. */
export interface DataSource {
  readonly role: "questions" | "demonstrations" | "index" | "evaluation" | "validation";
  /** Its own name, or its address. */
  readonly name: string;
  /** Of the hub: `OWNER/NAME`. */
  readonly dataset?: string | undefined;
  /** Of its content, of an index that of its manifest; undefined where it is gone, or somebody else named it. */
  readonly sha256?: string | undefined;
}

const roles = {
  questions: "questions",
  data: "demonstrations",
  "index.folder": "index",
  evalQuestions: "evaluation",
  validation: "validation",
} as const;

/**
 * What a run's options name.
 *
 * @param config - of the run
 * @param isOwn - whether this user's command wrote them; what others name is not looked at, since its digest could tell what it holds
 */
export async function dataOf(config: Settings, isOwn: boolean): Promise<DataSource[]> {
  const { folder } = Object(config.index) as { readonly folder?: unknown };
  const values: Settings = { ...config, "index.folder": folder };
  const named = Object.entries(roles).flatMap(([key, role]) =>
    [values[key]].flat().flatMap((path) => (typeof path === "string" ? [{ role, path }] : [])),
  );
  return Promise.all(named.map(({ role, path }) => (isOwn ? sourceOf(role, path) : nameOf(role, path))));
}

function nameOf(role: DataSource["role"], path: string): DataSource {
  return isAddress(path) ? { role, name: path, dataset: datasetOf(path) } : { role, name: basename(path) };
}

async function sourceOf(role: DataSource["role"], path: string): Promise<DataSource> {
  const address = isAddress(path) ? path : await addressOf(path);
  const file = (await isFolder(path)) ? join(path, manifestFile) : path;
  const sha256 = existsSync(file) ? await digestOfFile(file) : undefined;
  return { role, name: address ?? basename(path), dataset: datasetOf(address), sha256 };
}

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() ?? false;

const entrySchema = lazySchema((z) => z.looseObject({ url: z.string(), sha256: z.string() }));

/** Where a file of the downloads' cache came from: `file.json` beside it says so. */
async function addressOf(path: string): Promise<string | undefined> {
  const text = (await findText(join(dirname(path), "file.json"))) ?? "null";
  return parsedAddress(text);
}

function parsedAddress(text: string): string | undefined {
  try {
    const { url } = entrySchema().parse(JSON.parse(text));
    const [, id, revision, file] = /\/datasets\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(url) ?? [];
    return id === undefined ? url : `hf://datasets/${id}@${revision}/${file}`;
  } catch {
    return undefined;
  }
}

function datasetOf(address: string | undefined): string | undefined {
  return /^hf:\/\/datasets\/([^/@]+\/[^/@]+)/.exec(address ?? "")?.[1];
}
