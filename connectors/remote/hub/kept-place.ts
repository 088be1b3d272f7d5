/** What earlier calls left in the cache: whole, or with what is missing. */
import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import type { CachedRepository } from "../../../lib/base/files/hub-cache.ts";
import { readText } from "../../../lib/base/files/regular-file.ts";
import type { HubPlace } from "./hub-place.ts";
import { isWeights } from "./repository.ts";

/** A model, or one file of a repository, whole in the cache. */
interface KeptPlace {
  readonly path: string;
  readonly commit: string;
}

const whole = "model.safetensors";
const indexFile = `${whole}.index.json`;

/** Links of the cache whose content is gone count as missing. */
const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );

/** The files that an index of weights names; none where it cannot be read. */
async function filesOfIndex(path: string): Promise<string[]> {
  try {
    const { weight_map: files } = JSON.parse(await readText(path)) as { weight_map?: unknown };
    return [...new Set(Object.values(Object(files)).map(String))].sort();
  } catch {
    return [];
  }
}

async function missingWeights(folder: string, there: ReadonlySet<string>): Promise<string[]> {
  const named = there.has(indexFile) ? await filesOfIndex(join(folder, indexFile)) : [];
  if (named.length === 0 || there.has(whole))
    return [...there].some(isWeights) ? [] : ["weights in safetensors"];
  const areThere = await Promise.all(named.map((name) => isFile(join(folder, name))));
  return named.filter((_, i) => areThere[i] !== true);
}

/** What a model in a folder lacks: some of it may have been fetched alone, or by a program that was ended. */
async function missingOf(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const areThere = await Promise.all(names.map((name) => isFile(join(folder, name))));
  const there = new Set(names.filter((_, i) => areThere[i]));
  const isNamed = there.has("config.json") || there.has("adapter_config.json");
  return [...(isNamed ? [] : ["config.json"]), ...(await missingWeights(folder, there))];
}

/**
 * Looks for what an earlier call fetched, and asks nobody.
 *
 * @returns undefined unless it is whole
 */
export async function findKept(place: HubPlace, cached: CachedRepository): Promise<KeptPlace | undefined> {
  const commit = await cached.commitOf(place.revision);
  if (commit === undefined) return undefined;
  const folder = cached.snapshot(commit);
  if (place.file !== undefined) {
    const path = join(folder, place.file);
    return (await isFile(path)) ? { path, commit } : undefined;
  }
  return (await missingOf(folder)).length === 0 ? { path: folder, commit } : undefined;
}

const maxShown = 4;

/** What to say where nothing whole was found. */
export async function notKept(place: HubPlace, cached: CachedRepository): Promise<SeekError> {
  const { id, revision, file } = place;
  const remedy = "Remedy: without HF_HUB_OFFLINE=1 it is fetched";
  const commit = await cached.commitOf(revision);
  const folder = cached.snapshot(commit ?? "none");
  const names = await readdir(folder).catch(() => []);
  if (file !== undefined || names.length === 0)
    return new SeekError(
      "ERR_IO",
      `${id}@${revision}: not in the cache ${dirname(cached.folder)}. ${remedy}`,
    );
  const missing = await missingOf(folder);
  const more = missing.length > maxShown ? ` and ${missing.length - maxShown} more` : "";
  const shown = `${missing.slice(0, maxShown).join(", ")}${more}`;
  const gguf = names.filter((name) => name.endsWith(".gguf"));
  const also =
    gguf.length === 0
      ? ""
      : `; hf://${id}@${encodeURIComponent(revision)}/FILE names one of ${gguf.join(", ")}`;
  const what = `${id}@${revision}: expected a whole model in ${folder}, got one without ${shown}`;
  return new SeekError("ERR_IO", `${what}. ${remedy}${also}`);
}
