/** Several indexes out of one, each with a part of its passages, to be served by several machines. */
import { realpath, rm } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { checkArgument, checkOptions, numberIn, type OptionKinds } from "../../../base/check-options.ts";
import { SeekError } from "../../../base/errors.ts";
import { boundsOf } from "../build-plan.ts";
import { changeFolder, checkOwn } from "../change.ts";
import { countLive, findManifest, type Manifest } from "../manifest.ts";
import { needManifest } from "../open.ts";
import type { Segment } from "../segment.ts";
import { type CopyOptions, openSource, type SegmentRange, type Source, writeCopy } from "./copy.ts";

/** How an index is split. */
export interface SplitIndexOptions extends CopyOptions {
  /** How many parts, at most as many as there are passages. */
  readonly shards: number;
}

const optionKinds: OptionKinds<SplitIndexOptions> = {
  shards: numberIn({ from: 1, to: 65_536, isWhole: true }),
  onProgress: "function",
  signal: "signal",
};

/** The row before which `numLive` passages of a segment are not removed. */
function rowAfter({ removed }: Segment, numLive: number): number {
  let row = numLive;
  for (const gone of removed) {
    if (gone > row) break;
    row += 1;
  }
  return row;
}

/** The rows of the passages from number `first` to `end`, removed ones not counted. */
function rangesOf(
  segments: readonly Segment[],
  { first, end }: { readonly first: number; readonly end: number },
): SegmentRange[] {
  let before = 0;
  return segments.flatMap((segment) => {
    const { numLive } = segment;
    const [from, to] = [first, end].map((each) => Math.min(Math.max(each - before, 0), numLive)) as [
      number,
      number,
    ];
    before += numLive;
    if (from === to) return [];
    return [{ segment, begin: rowAfter(segment, from), end: rowAfter(segment, to) }];
  });
}

/** Of what is not there yet, where it would be. */
async function realOf(path: string): Promise<string> {
  const whole = resolve(path);
  if (whole === dirname(whole)) return whole;
  return realpath(whole).catch(async () => join(await realOf(dirname(whole)), basename(whole)));
}

/** Parts in the folder of the index would be taken for a part of it, and removed with it. */
async function checkApart(folder: string, out: string): Promise<void> {
  const [index, parts] = await Promise.all([folder, out].map(async (each) => (await realOf(each)) + sep));
  if (!index!.startsWith(parts!) && !parts!.startsWith(index!)) return;
  const remedy = "name a folder beside it";
  throw new SeekError(
    "ERR_ARGUMENT",
    `${out}: expected a folder neither in the index ${folder} nor around it; ${remedy}`,
  );
}

function takenError(folder: string): SeekError {
  const remedy = "remove it, or name another folder for the parts";
  return new SeekError("ERR_ARGUMENT", `${folder}: expected no index yet, found one; ${remedy}`);
}

async function checkFree(folder: string): Promise<void> {
  await checkOwn(folder);
  if ((await findManifest(folder)) !== undefined) throw takenError(folder);
}

/** Where a part is written, and who is told that its folder has begun to change. */
interface PartFolder {
  readonly out: string;
  onBegun(): void;
}

async function writePart(
  source: Source,
  { out, onBegun }: PartFolder,
  part: { readonly index: number; readonly count: number },
  options: CopyOptions,
): Promise<void> {
  const total = countLive(source.manifest);
  const bounds = boundsOf(part, total);
  await changeFolder(out, async (change): Promise<Manifest> => {
    if (change.current) throw takenError(out);
    onBegun();
    const written = await writeCopy(source, rangesOf(source.segments, bounds), change, options);
    return { ...written, part: { ...part, first: bounds.first, total } };
  });
}

/** Writes all parts, or leaves none. */
async function writeParts(source: Source, folders: readonly string[], options: CopyOptions): Promise<void> {
  const begun: string[] = [];
  try {
    for (const [i, out] of folders.entries()) {
      const target = { out, onBegun: () => void begun.push(out) };
      await writePart(source, target, { index: i + 1, count: folders.length }, options);
    }
  } catch (error) {
    for (const each of begun) await rm(each, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Splits an index into parts of as many passages each, in their order, removed ones left out. Vectors are copied as they are
 * stored; nothing is embedded again. Each part knows its place, so that `shardedSearch` finds in all of them what the index
 * finds: the one that a merge with itself makes of it, where passages were removed. What fails or is aborted leaves no part.
 *
 * @param folder the index, which stays as it is
 * @param out a folder for the folders of the parts, `1` to the number of shards
 * @param options `shards`, progress, signal
 * @returns the folders
 * @throws ERR_RANGE for more shards than passages; ERR_ARGUMENT for a part's folder that holds an index or other things, and
 * for an `out` in the index or around it; ERR_IO, ERR_FORMAT, ERR_STATE, ERR_ABORTED
 * @example
 * const folders = await splitIndex("index", "shards", { shards: 2 }); // shards/1 and shards/2
 */
export async function splitIndex(folder: string, out: string, options: SplitIndexOptions): Promise<string[]> {
  checkArgument("splitIndex: folder", folder, "string");
  checkArgument("splitIndex: out", out, "string");
  const { shards: count, ...listener } = checkOptions("splitIndex", options, optionKinds, ["shards"]);
  const numPassages = countLive(await needManifest(folder));
  if (count > numPassages)
    throw new SeekError("ERR_RANGE", `shards: expected at most ${numPassages}, one a passage, got ${count}`);
  await checkApart(folder, out);
  const folders = Array.from({ length: count }, (_, i) => join(out, String(i + 1)));
  for (const each of folders) await checkFree(each);
  const source = await openSource(folder);
  try {
    await writeParts(source, folders, listener);
    return folders;
  } finally {
    source.close();
  }
}
