/** Changes an index folder: one process at a time, readers undisturbed, and the new manifest as the commit. */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { native } from "../../base/addon/native.ts";
import { writeRefusal } from "../../base/disk/refused-write.ts";
import { SeekError } from "../../base/errors.ts";
import { makeFolder } from "../../base/files/files.ts";
import { KnownFiles, knownFilesFile } from "./known-files.ts";
import {
  findManifest,
  isOfIndex,
  listFiles,
  type Manifest,
  manifestFile,
  type SegmentEntry,
  segmentFolder,
  segmentsFolder,
  writeManifest,
} from "./manifest.ts";

/** The file whose lock a change holds. */
const lockFile = "lock";

/** What a change starts from. */
export interface Change {
  /** The index as it is; undefined before the first build. */
  readonly current: Manifest | undefined;
  /** The name of the next segment. */
  readonly name: string;
  /** Its folder, which is there. */
  readonly path: string;
}

/** How to change a folder. */
interface ChangeOptions {
  /** What a kill has left of the next segment is kept for `change` to go on with. @default false */
  readonly resume?: boolean;
  /** An index that cannot be read, of another version for example, counts as none. @default false */
  readonly replace?: boolean;
}

// Somebody else's manifest.json is not ours to replace.
async function findReplaced(folder: string): Promise<Manifest | undefined> {
  try {
    return await findManifest(folder);
  } catch (error) {
    if (await isOfIndex(folder)) return undefined;
    throw error;
  }
}

const isTemporary = (name: string): boolean =>
  [manifestFile, knownFilesFile].some((file) => name.startsWith(`${file}.`)) && name.endsWith(".tmp");

/**
 * A folder of other things is not for an index. One without a manifest may hold what a killed first build has left; what
 * stands beside a manifest is left alone.
 *
 * @throws ERR_ARGUMENT
 */
export async function checkOwn(folder: string): Promise<void> {
  const names = await namesIn(folder);
  if (names.includes(manifestFile)) return;
  const ours = [lockFile, knownFilesFile, ...(names.includes(lockFile) ? [segmentsFolder] : [])];
  const other = names.filter((name) => !ours.includes(name) && !isTemporary(name)).sort()[0];
  if (other === undefined) return;
  throw new SeekError(
    "ERR_ARGUMENT",
    `${folder}: expected a new or empty folder, or an index; it holds ${other}`,
  );
}

/** The name of the segment that the next change adds. */
export function nextSegment(manifest: Manifest | undefined): string {
  const names = manifest?.segments.map(({ name }) => Number(name)) ?? [];
  return String(Math.max(0, ...names) + 1);
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** Removes what no manifest names: segments, files in them, and temporary files of a writer that was killed. */
async function removeGarbage(folder: string, manifest: Manifest | undefined, kept?: string): Promise<void> {
  const remove = (...path: string[]): Promise<void> =>
    rm(join(folder, ...path), { recursive: true, force: true });
  for (const name of (await namesIn(folder)).filter(isTemporary)) await remove(name);
  for (const name of await namesIn(join(folder, segmentsFolder))) {
    if (name === kept) continue;
    const segment = manifest?.segments.find((each) => each.name === name);
    if (segment === undefined) await remove(segmentsFolder, name);
    else
      for (const file of await namesIn(join(folder, segmentsFolder, name)))
        if (segment.files[file] === undefined) await remove(segmentsFolder, name, file);
  }
}

// A file that was there before counts as good only if it did so before.
async function rememberFiles(
  folder: string,
  manifest: Manifest,
  before: Manifest | undefined,
): Promise<void> {
  const old = new Set(before ? listFiles(before).map(([path]) => path) : []);
  const known = await KnownFiles.read(folder);
  for (const [path] of listFiles(manifest)) {
    const state = await known.look(path);
    if (state.isKnown || !old.has(path)) known.trust(state);
  }
  await known.save(listFiles(manifest).map(([path]) => path));
}

/**
 * Runs a change under the folder's lock and commits the manifest it returns. Whatever no manifest names is removed:
 * before, what a kill has left; after, what the change has replaced. Readers that have it open keep it until they close.
 *
 * @param folder the index
 * @param change gives the manifest that shall be; undefined leaves all as it is
 * @returns the manifest that holds now
 * @throws ERR_STATE when somebody else is changing the folder; ERR_ARGUMENT for a folder of other things; ERR_IO,
 * ERR_FORMAT; whatever `change` throws
 */
export async function changeFolder(
  folder: string,
  change: (from: Change) => Promise<Manifest | undefined>,
  { resume = false, replace = false }: ChangeOptions = {},
): Promise<Manifest | undefined> {
  await makeFolder(folder);
  await checkOwn(folder);
  const lock = native().fileLockTake(join(folder, lockFile));
  try {
    const current = await (replace ? findReplaced(folder) : findManifest(folder));
    const name = nextSegment(current);
    await removeGarbage(folder, current, resume ? name : undefined);
    const path = join(folder, segmentFolder({ name }));
    await mkdir(path, { recursive: true });
    const made = await change({ current, name, path });
    if (made !== undefined) {
      await writeManifest(folder, made);
      await rememberFiles(folder, made, current);
    }
    await removeGarbage(folder, made ?? current);
    return made ?? current;
  } catch (error) {
    throw writeRefusal(error, folder) ?? error;
  } finally {
    native().fileLockClose(lock);
  }
}

/** The sizes of a segment's files. */
export async function sizesOf(path: string, names: readonly string[]): Promise<SegmentEntry["files"]> {
  const sizes = names.map(async (name) => [name, (await stat(join(path, name))).size] as const);
  return Object.fromEntries(await Promise.all(sizes));
}
