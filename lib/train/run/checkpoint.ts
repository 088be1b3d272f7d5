/** Checkpoints: folders that appear whole or not at all, and the latest of them (laws 5 and 8). */
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { SeekError } from "../../base/errors.ts";

const stateFile = "state.json";
const namePattern = /^step-(\d+)$/;
/** Folders that are being written or removed; a kill may leave them behind. */
const leftoverPattern = /^\.(writing|removing)-/;

const stateShape = z.looseObject({ step: z.number().int().nonnegative() });

/** A finished checkpoint. */
export interface Checkpoint {
  /** Steps finished when it was written. */
  readonly step: number;
  readonly folder: string;
  /** What was given to `writeCheckpoint`, read back from JSON. */
  readonly state: Readonly<Record<string, unknown>>;
}

/** What goes into a checkpoint. */
export interface CheckpointContent {
  readonly step: number;
  /** Anything JSON can say. */
  readonly state: Readonly<Record<string, unknown>>;
  /** Puts files into the folder it is given. */
  readonly write: (folder: string) => Promise<void>;
}

/** Flushes every file below a folder, then the folders themselves. */
async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncTree(path);
    else await sync(path);
  }
  await sync(folder);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Renaming first means that a folder with a checkpoint's name is always complete. */
async function removeWhole(root: string, name: string): Promise<void> {
  const doomed = join(root, `.removing-${name}`);
  await rm(doomed, { recursive: true, force: true });
  await rename(join(root, name), doomed);
  await rm(doomed, { recursive: true, force: true });
}

async function checkpointNames(root: string): Promise<{ name: string; step: number }[]> {
  const found: { name: string; step: number }[] = [];
  for (const name of await readdir(root).catch(() => [] as string[])) {
    const match = namePattern.exec(name);
    if (match) found.push({ name, step: Number(match[1]) });
  }
  return found.sort((a, b) => b.step - a.step);
}

/**
 * Writes a checkpoint under a temporary name, flushes it, and gives it its name; only then older ones go.
 *
 * @param root - the folder of all checkpoints, made when missing
 * @param content - step, state and a function that writes the files
 * @param options - `keep` of the newest checkpoints, `@default` 2
 * @returns the new checkpoint's folder
 * @throws ERR_IO when the file system refuses
 */
export async function writeCheckpoint(
  root: string,
  { step, state, write }: CheckpointContent,
  { keep = 2 }: { readonly keep?: number } = {},
): Promise<string> {
  const name = `step-${String(step).padStart(6, "0")}`;
  const writing = join(root, `.writing-${name}`);
  const folder = join(root, name);
  try {
    await rm(writing, { recursive: true, force: true });
    await mkdir(writing, { recursive: true });
    await write(writing);
    const handle = await open(join(writing, stateFile), "w");
    await handle.writeFile(`${JSON.stringify({ ...state, step }, null, 2)}\n`);
    await handle.close();
    await syncTree(writing);
    if ((await checkpointNames(root)).some((other) => other.step === step)) await removeWhole(root, name);
    await rename(writing, folder);
    await sync(root);
    for (const old of (await checkpointNames(root)).slice(Math.max(1, keep)))
      await removeWhole(root, old.name);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw new SeekError("ERR_IO", `${folder}: cannot be written: ${(cause as Error).message}`, { cause });
  }
  return folder;
}

/**
 * The newest finished checkpoint. What a kill left half written is not one.
 *
 * @param root - the folder of all checkpoints; may be missing
 * @returns undefined when there is none
 * @throws ERR_FORMAT when its state is not what `writeCheckpoint` writes
 */
export async function latestCheckpoint(root: string): Promise<Checkpoint | undefined> {
  const [latest] = await checkpointNames(root);
  if (latest === undefined) return undefined;
  const folder = join(root, latest.name);
  const path = join(folder, stateFile);
  try {
    const state = stateShape.parse(JSON.parse(await readFile(path, "utf8")));
    return { step: state.step, folder, state };
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: expected a checkpoint's state`, { cause });
  }
}

/** Removes what a kill left behind. */
export async function removeLeftovers(root: string): Promise<void> {
  for (const name of await readdir(root).catch(() => [] as string[])) {
    if (leftoverPattern.test(name)) await rm(join(root, name), { recursive: true, force: true });
  }
}
