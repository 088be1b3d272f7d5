/** What an index folder holds, whether it is sound, and whether it is searched as another one. */
import { join } from "node:path";
import { checkArgument, checkOptions } from "../../base/check-options.ts";
import { codeOf } from "../../base/errors.ts";
import { digestOf } from "../../base/files/digests.ts";
import { openRegular, readBytes } from "../../base/files/regular-file.ts";
import { FileChecks, type Verify, verifyKind } from "./file-checks.ts";
import {
  analyserOf,
  countLive,
  type EmbedderSettings,
  embedderSegment,
  type IndexSettings,
  listFiles,
  type SegmentEntry,
  segmentFolder,
} from "./manifest.ts";
import { needManifest, openOwnEmbedder } from "./open.ts";
import { Segment, segmentFiles } from "./segment.ts";

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
  const analyser = analyserOf(settings);
  const wanted = { bm25: settings.bm25 !== undefined, dense: settings.dense !== undefined, analyser };
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

/** Every file that native code writes begins with so many bytes, which have the checksum of all that follow. */
const headerBytes = 128;

async function headerOf(path: string): Promise<string> {
  await using file = await openRegular(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
  return digestOf(buffer.subarray(0, bytesRead));
}

/** An embedder without its places: the segment that has it, the path of an encoder that is known by its fingerprint. */
function placeless(embedder: EmbedderSettings): object {
  if (embedder.kind === "hashed") return { kind: embedder.kind, dim: embedder.dim };
  const { path: _, signature: __, ...content } = embedder;
  return content;
}

/** What a segment was made of; its indexes follow from it and the settings. */
async function sourcesOf(folder: string, entry: SegmentEntry): Promise<unknown[]> {
  const path = (name: string): string => join(folder, segmentFolder(entry), name);
  const { passages, embedder } = segmentFiles;
  const written = [passages, embedder].filter((name) => entry.files[name] !== undefined);
  const headers = await Promise.all(written.map((name) => headerOf(path(name))));
  const removed = entry.removed && digestOf(await readBytes(path(entry.removed.file)));
  return [entry.count, ...headers, removed ?? null];
}

/**
 * A digest of what searches of an index depend on: settings, passages, embedder, what was removed. A build of the same corpus in the
 * same way has the same one, in whichever folder, and whatever stood there before.
 *
 * @param folder the index
 * @returns SHA-256, in hexadecimal; of each large file only the header is read, which has its checksum
 * @throws ERR_IO when there is no index, or one of its files; ERR_FORMAT when its manifest is damaged
 */
export async function indexDigest(folder: string): Promise<string> {
  const { settings, part, segments } = await needManifest(folder);
  const { analyser, bm25, dense } = settings;
  const vectors = dense && { ...dense, embedder: placeless(dense.embedder) };
  const sources = await Promise.all(segments.map((entry) => sourcesOf(folder, entry)));
  const words = analyser === undefined ? [] : [analyser];
  return digestOf(JSON.stringify([bm25 ?? null, vectors ?? null, part ?? null, sources, ...words]));
}
