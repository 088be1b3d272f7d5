/** What an index folder holds, and whether it is sound. */
import { checkArgument, checkOptions } from "../base/check-options.ts";
import { codeOf } from "../base/errors.ts";
import { FileChecks, type Verify, verifyKind } from "./file-checks.ts";
import { countLive, embedderSegment, type IndexSettings, listFiles, type SegmentEntry } from "./manifest.ts";
import { needManifest, openOwnEmbedder } from "./open.ts";
import { Segment } from "./segment.ts";

/** One segment. */
export interface SegmentInfo {
  readonly name: string;
  /** Passages that can be found. */
  readonly passages: number;
  readonly removed: number;
  readonly bytes: number;
  /** How its vectors are searched; undefined without vectors. */
  readonly vectors: "exact" | "hnsw" | undefined;
  /** Share of the true ten nearest that a search finds; undefined where all are compared exactly. */
  readonly recall: number | undefined;
}

/** A folder's description. */
export interface IndexInfo {
  /** Passages that can be found. */
  readonly passages: number;
  readonly removed: number;
  readonly bytes: number;
  readonly settings: IndexSettings;
  readonly segments: readonly SegmentInfo[];
  /** How much was read to check it. */
  readonly checkedBytes: number;
  /** What is wrong, one line for the first fault of each segment; empty for a sound index. */
  readonly problems: readonly string[];
}

function infoOf(entry: SegmentEntry): SegmentInfo {
  const removed = entry.removed?.count ?? 0;
  const bytes = listFiles({ segments: [entry] }).reduce((sum, [, size]) => sum + size, 0);
  const { name, count, vectors, recall } = entry;
  return { name, passages: count - removed, removed, bytes, vectors, recall };
}

/**
 * Describes an index and checks it.
 *
 * @param folder the index
 * @param options `verify`: whose every byte is read, `@default "touched"`
 * @returns what it holds; faults of its files are reported, not thrown
 * @throws ERR_IO when there is no index, ERR_FORMAT when its manifest is damaged
 * @example
 * const { passages, problems } = await indexInfo("index", { verify: "all" });
 */
export async function indexInfo(
  folder: string,
  options: { readonly verify?: Verify } = {},
): Promise<IndexInfo> {
  checkArgument("indexInfo: folder", folder, "string");
  const { verify = "touched" } = checkOptions("indexInfo", options, { verify: verifyKind });
  const manifest = await needManifest(folder);
  const { settings } = manifest;
  const checks = await FileChecks.begin(folder, verify);
  const problems: string[] = [];
  // One by one, so that a fault in one does not hide the others'.
  const check = async (open: () => Promise<{ close(): void } | undefined>): Promise<void> => {
    try {
      (await open())?.close();
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      problems.push((error as Error).message);
    }
  };
  const wanted = { bm25: settings.bm25 !== undefined, dense: settings.dense !== undefined };
  for (const entry of manifest.segments) await check(() => Segment.open(entry, checks, wanted));
  // An encoder's weights are read only when everything is.
  if (verify === "all" || embedderSegment(settings) !== undefined)
    await check(() => openOwnEmbedder(manifest, checks, { verify }));
  await checks.end(manifest);
  const segments = manifest.segments.map(infoOf);
  const sum = (value: (segment: SegmentInfo) => number): number =>
    segments.reduce((total, segment) => total + value(segment), 0);
  return {
    passages: countLive(manifest),
    removed: sum(({ removed }) => removed),
    bytes: sum(({ bytes }) => bytes),
    ...{ settings, segments, problems, checkedBytes: checks.checkedBytes },
  };
}
