/** Several indexes out of one, each with a part of its passages, to be served by several machines. */
import { join } from "node:path";
import { checkArgument, checkOptions, numberIn, type OptionKinds } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { boundsOf } from "../build-plan.ts";
import { changeFolder } from "../change.ts";
import { countLive, type Manifest } from "../manifest.ts";
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

async function writePart(
  source: Source,
  out: string,
  part: { readonly index: number; readonly count: number },
  options: CopyOptions,
): Promise<Manifest> {
  const total = countLive(source.manifest);
  const bounds = boundsOf(part, total);
  const manifest = await changeFolder(out, async (change) => {
    if (change.current) throw new SeekError("ERR_ARGUMENT", `${out}: expected no index yet, found one`);
    const written = await writeCopy(source, rangesOf(source.segments, bounds), change, options);
    return { ...written, part: { ...part, first: bounds.first, total } };
  });
  return manifest as Manifest;
}

/**
 * Splits an index into parts of as many passages each, in their order, removed ones left out. Vectors are copied as they are
 * stored; nothing is embedded again. Each part knows its place, so that `shardedSearch` finds in all of them what the index
 * finds: the one that a merge with itself makes of it, where passages were removed.
 *
 * @param folder the index, which stays as it is
 * @param out a folder for the folders of the parts, `1` to the number of shards
 * @param options `shards`, progress, signal
 * @returns the folders
 * @throws ERR_RANGE for more shards than passages; ERR_ARGUMENT for a folder that holds an index or other things; ERR_IO,
 * ERR_FORMAT, ERR_STATE, ERR_ABORTED
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
  const source = await openSource(folder);
  const folders = Array.from({ length: count }, (_, i) => join(out, String(i + 1)));
  try {
    for (const [i, each] of folders.entries())
      await writePart(source, each, { index: i + 1, count }, listener);
    return folders;
  } finally {
    source.close();
  }
}
