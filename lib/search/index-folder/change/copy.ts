/** A new index out of passages of others: texts and words are written anew, vectors copied as they are stored. */
import { join } from "node:path";
import { throwIfAborted } from "../../../base/errors.ts";
import { copyRegular } from "../../../base/files/regular-file.ts";
import type { Passage } from "../../corpus/passage.ts";
import { PassageStore } from "../../corpus/passage-store.ts";
import { buildBm25, describeSegment, storePassages } from "../build/build-segment.ts";
import type { Listener } from "../build/build-steps.ts";
import { mergeVectors } from "../build/build-vectors.ts";
import type { Change } from "../change.ts";
import type { CorpusOptions } from "../corpus.ts";
import { embedderSegment, type IndexSettings, type Manifest, segmentFolder } from "../manifest.ts";
import { needManifest, openFiles } from "../open.ts";
import { type Segment, segmentFiles } from "../segment.ts";

/** How copying speaks and when it must stop. */
export interface CopyOptions {
  /** Called after every batch. */
  readonly onProgress?: Listener["onProgress"];
  readonly signal?: AbortSignal;
}

/** An index that takes part. */
export interface Source {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly segments: readonly Segment[];
  close(): void;
}

/** Passages of a segment, from `begin` up to, not including, `end`, removed ones included. */
export interface SegmentRange {
  readonly segment: Segment;
  readonly begin: number;
  readonly end: number;
}

/** As many passages as are copied in some milliseconds. */
const batchSize = 1024;

/** Opens an index to be copied from. @throws ERR_IO, ERR_FORMAT */
export async function openSource(folder: string): Promise<Source> {
  const manifest = await needManifest(folder);
  const { settings } = manifest;
  const hasFile = embedderSegment(settings) !== undefined;
  const wanted = { bm25: false, dense: settings.dense !== undefined, embedder: hasFile };
  const { segments, close } = await openFiles(folder, manifest, wanted);
  return { folder, manifest, segments, close };
}

/** All passages of segments. */
export function everyRow(segments: readonly Segment[]): SegmentRange[] {
  return segments.map((segment) => ({ segment, begin: 0, end: segment.entry.count }));
}

/** The passages that are not removed, in their order. */
async function* liveOf(
  ranges: readonly SegmentRange[],
  { onShare, signal }: Pick<CorpusOptions, "onShare" | "signal">,
): AsyncGenerator<Passage> {
  const total = ranges.reduce((sum, { begin, end }) => sum + end - begin, 0);
  let before = 0;
  for (const { segment, begin, end } of ranges) {
    for (let first = begin; first < end; first += batchSize) {
      throwIfAborted(signal, "index");
      const count = Math.min(batchSize, end - first);
      const rows = Array.from({ length: count }, (_, i) => first + i).filter(
        (row) => !segment.isRemoved(row),
      );
      yield* await segment.passages.getMany(Int32Array.from(rows));
      onShare?.((before + first + count - begin) / total);
    }
    before += end - begin;
  }
}

/** The settings of the new index, whose embedder is copied into its segment. */
async function takeSettings({ folder, manifest }: Source, { name, path }: Change): Promise<IndexSettings> {
  const { settings } = manifest;
  const from = embedderSegment(settings);
  const { dense } = settings;
  if (dense?.embedder.kind !== "hashed" || from === undefined) return settings;
  await copyRegular(
    join(folder, segmentFolder({ name: from }), segmentFiles.embedder),
    join(path, segmentFiles.embedder),
  );
  return { ...settings, dense: { ...dense, embedder: { ...dense.embedder, segment: name } } };
}

/**
 * Writes passages and their vectors as the one segment of a new index.
 *
 * @param source whose settings and embedder the index gets
 * @param ranges which passages, in their order
 * @param change the folder to write
 */
export async function writeCopy(
  source: Source,
  ranges: readonly SegmentRange[],
  change: Change,
  { onProgress, signal }: CopyOptions,
): Promise<Manifest> {
  const { name, path } = change;
  const settings = await takeSettings(source, change);
  await storePassages(path, (onShare) => liveOf(ranges, { onShare, signal }), { onProgress, signal });
  const store = await PassageStore.open(join(path, segmentFiles.passages));
  try {
    const work = { path, store, onProgress, signal };
    if (settings.bm25) await buildBm25(work, settings);
    if (settings.dense) await mergeVectors(work, settings.dense, vectorsOf(ranges));
    const segment = await describeSegment(name, work, settings);
    return { format: "seekrl-index", version: 2, settings, segments: [segment] };
  } finally {
    store.close();
  }
}

function vectorsOf(ranges: readonly SegmentRange[]) {
  return ranges.flatMap(({ segment: { rows }, begin, end }) => (rows ? [{ index: rows, begin, end }] : []));
}
