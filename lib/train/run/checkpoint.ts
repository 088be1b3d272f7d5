/** Checkpoints: folders that appear whole or not at all, and whose files are what was written (laws 5 and 8). */
import { mkdir, open, readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { z } from "zod";
import { refusedWrite } from "../../base/disk/refused-write.ts";
import { SeekError } from "../../base/errors.ts";
import { digestOf, digestsBelow } from "../../base/files/digests.ts";
import { findText } from "../../base/files/regular-file.ts";
import { lazySchema } from "../../base/on-first-use.ts";

const stateFile = "state.json";
const bestLink = "best";
const namePattern = /^step-(\d+)$/;
/** Folders that are being written or removed; a kill may leave them behind. */
const leftoverPattern = /^\.(writing|removing)-/;

const stateShape = lazySchema((z) =>
  z.looseObject({
    step: z.int().nonnegative(),
    /** SHA-256 of every other file in the folder. */
    files: z.record(z.string(), z.string()),
  }),
);

/** A finished checkpoint. */
export interface Checkpoint {
  /** Steps finished when it was written. */
  readonly step: number;
  readonly folder: string;
  /** What was given to `writeCheckpoint`, read back from JSON. */
  readonly state: Readonly<Record<string, unknown>>;
}

/** What goes into a checkpoint. */
interface CheckpointContent {
  readonly step: number;
  /** Anything JSON can say. */
  readonly state: Readonly<Record<string, unknown>>;
  /** Puts files into the folder it is given. */
  readonly write: (folder: string) => Promise<void>;
}

/** Which checkpoints stay. */
interface KeepOptions {
  /** The newest ones. @default 2 */
  readonly keep?: number | undefined;
  /** The step of one that stays besides, and that the link `best` leads to. */
  readonly best?: number | undefined;
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

/** The folder of a step's checkpoint. */
export const checkpointName = (step: number): string => `step-${String(step).padStart(6, "0")}`;

async function checkpointNames(root: string): Promise<{ name: string; step: number }[]> {
  const found: { name: string; step: number }[] = [];
  for (const name of await readdir(root).catch(() => [] as string[])) {
    const match = namePattern.exec(name);
    if (match) found.push({ name, step: Number(match[1]) });
  }
  return found.sort((a, b) => b.step - a.step);
}

/** Its last member, `digest`, is the SHA-256 of all others as JSON without blanks. */
async function writeState(folder: string, state: object): Promise<void> {
  const described = { ...state, files: await digestsBelow(folder) };
  const text = JSON.stringify({ ...described, digest: digestOf(JSON.stringify(described)) }, null, 2);
  const handle = await open(join(folder, stateFile), "w");
  await handle.writeFile(`${text}\n`);
  await handle.close();
}

/** Leads `best` to a checkpoint; a reader meets the old one or the new one. */
async function linkBest(root: string, step: number | undefined): Promise<void> {
  const link = join(root, bestLink);
  if (step === undefined) return rm(link, { force: true });
  if ((await readlink(link).catch(() => undefined)) === checkpointName(step)) return;
  const writing = join(root, `.writing-${bestLink}`);
  await rm(writing, { recursive: true, force: true });
  await symlink(checkpointName(step), writing);
  await rename(writing, link);
}

async function removeOld(root: string, { keep = 2, best }: KeepOptions): Promise<void> {
  for (const old of (await checkpointNames(root)).slice(Math.max(1, keep)))
    if (old.step !== best) await removeWhole(root, old.name);
}

/** A checkpoint that is being written: a folder that is none yet. */
export interface CheckpointDraft {
  readonly root: string;
  readonly step: number;
  /** Where its files go. */
  readonly folder: string;
}

/** Makes the folder for the files of a checkpoint. @throws ERR_IO */
export async function beginCheckpoint(root: string, step: number): Promise<CheckpointDraft> {
  const folder = join(root, `.writing-${checkpointName(step)}`);
  const draft = { root, step, folder };
  await orAbandon(draft, async () => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
  });
  return draft;
}

/**
 * Adds the digests of a checkpoint's files, flushes it, and gives it its name; only then older ones go.
 *
 * @param draft - all of whose files are written
 * @param state - anything JSON can say
 * @param options - which checkpoints stay
 * @returns the new checkpoint's folder
 * @throws ERR_IO when the file system refuses
 */
export async function finishCheckpoint(
  draft: CheckpointDraft,
  state: CheckpointContent["state"],
  options: KeepOptions = {},
): Promise<string> {
  const { root, step, folder: writing } = draft;
  const name = checkpointName(step);
  const folder = join(root, name);
  await orAbandon(draft, async () => {
    await writeState(writing, { ...state, step });
    await syncTree(writing);
    if ((await checkpointNames(root)).some((other) => other.step === step)) await removeWhole(root, name);
    await rename(writing, folder);
    await linkBest(root, options.best);
    await sync(root);
    await removeOld(root, options);
  });
  return folder;
}

/** Removes what was written of a checkpoint that cannot be finished. */
export async function abandonCheckpoint({ folder }: CheckpointDraft): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
}

async function orAbandon(draft: CheckpointDraft, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    await abandonCheckpoint(draft);
    if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    const folder = join(draft.root, checkpointName(draft.step));
    throw refusedWrite(folder, cause);
  }
}

/**
 * Writes a checkpoint of one process.
 *
 * @param root - the folder of all checkpoints, made when missing
 * @param content - step, state and a function that writes the files
 * @param options - which of them stay
 * @returns the new checkpoint's folder
 * @throws ERR_IO when the file system refuses, and what `write` throws
 */
export async function writeCheckpoint(
  root: string,
  { step, state, write }: CheckpointContent,
  options: KeepOptions = {},
): Promise<string> {
  const draft = await beginCheckpoint(root, step);
  await orAbandon(draft, () => write(draft.folder));
  return finishCheckpoint(draft, state, options);
}

/** What a folder's state says, when it says what was written. */
async function readState(path: string): Promise<z.infer<ReturnType<typeof stateShape>>> {
  const text = await findText(path);
  if (text === undefined) throw damaged(path, "a checkpoint's state, got no such file");
  try {
    const { digest, ...described } = JSON.parse(text);
    if (digest === digestOf(JSON.stringify(described))) return stateShape().parse(described);
  } catch {}
  throw damaged(path, "a checkpoint's state as it was written");
}

function damaged(path: string, expected: string): SeekError {
  const remedy = "the file is damaged; without its folder the run goes on from the checkpoint before";
  return new SeekError("ERR_FORMAT", `${path}: expected ${expected}: ${remedy}`);
}

/**
 * The newest finished checkpoint, its files compared with their digests. What a kill left half written is not one.
 *
 * @param root - the folder of all checkpoints; may be missing
 * @returns undefined when there is none
 * @throws ERR_FORMAT naming the file that is missing or not what was written
 */
export async function latestCheckpoint(root: string): Promise<Checkpoint | undefined> {
  const [latest] = await checkpointNames(root);
  return latest && readCheckpoint(root, latest.step);
}

/** Steps of the newest finished checkpoint, 0 without one; no file is read. */
export async function stepsDone(root: string): Promise<number> {
  const [latest] = await checkpointNames(root);
  return latest?.step ?? 0;
}

/**
 * The finished checkpoint of a step, its files compared with their digests.
 *
 * @param root - the folder of all checkpoints
 * @param step - of a checkpoint that is there
 * @throws ERR_FORMAT naming the file that is missing or not what was written
 */
export async function readCheckpoint(root: string, step: number): Promise<Checkpoint> {
  const folder = join(root, checkpointName(step));
  const { files, ...state } = await readState(join(folder, stateFile));
  if (state.step !== step) throw damaged(join(folder, stateFile), `step ${step}`);
  const actual = await digestsBelow(folder);
  const wrong = Object.keys(files).find((name) => actual[name] !== files[name]);
  if (wrong !== undefined) throw damaged(join(folder, wrong), `SHA-256 ${files[wrong]}`);
  return { step: state.step, folder, state };
}

/** Removes what a kill left behind. */
export async function removeLeftovers(root: string): Promise<void> {
  for (const name of await readdir(root).catch(() => [] as string[])) {
    if (leftoverPattern.test(name)) await rm(join(root, name), { recursive: true, force: true });
  }
}
