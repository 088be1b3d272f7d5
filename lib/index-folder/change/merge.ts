/** One index out of several, or out of the many segments of one. */

import { copyFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { checkArgument, checkOptions } from "../../base/check-options.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import type { Passage } from "../../corpus/passage.ts";
import { PassageStore } from "../../corpus/passage-store.ts";
import { buildBm25, describeSegment, storePassages } from "../build/build-segment.ts";
import type { Listener } from "../build/build-steps.ts";
import { mergeVectors } from "../build/build-vectors.ts";
import { type Change, changeFolder } from "../change.ts";
import type { CorpusOptions } from "../corpus.ts";
import { embedderSegment, type IndexSettings, type Manifest, segmentFolder } from "../manifest.ts";
import { needManifest, openFiles } from "../open.ts";
import { type Segment, segmentFiles } from "../segment.ts";
import { planOf } from "../shard/plan.ts";
import { checkUniqueIds } from "../unique-ids.ts";

/** How a merge speaks and when it must stop. */
export interface MergeOptions {
  /** Called after every batch. */
  readonly onProgress?: Listener["onProgress"];
  readonly signal?: AbortSignal;
}

/** An index that takes part. */
interface Source {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly segments: readonly Segment[];
  close(): void;
}

/** As many passages as are copied in some milliseconds. */
const batchSize = 1024;

async function openSource(folder: string): Promise<Source> {
  const manifest = await needManifest(folder);
  const { settings } = manifest;
  const hasFile = embedderSegment(settings) !== undefined;
  const wanted = { bm25: false, dense: settings.dense !== undefined, embedder: hasFile };
  const { segments, close } = await openFiles(folder, manifest, wanted);
  return { folder, manifest, segments, close };
}

async function checkAlike(sources: readonly Source[]): Promise<void> {
  const [first, ...others] = sources;
  if (first === undefined)
    throw new SeekError("ERR_ARGUMENT", "indexes: expected at least one to merge, got none");
  const plan = await planOf(first.folder, first.manifest);
  for (const other of others) {
    if ((await planOf(other.folder, other.manifest)) === plan) continue;
    throw new SeekError(
      "ERR_ARGUMENT",
      `${other.folder}: expected the settings and the embedder of ${first.folder}; parts of one corpus are built with part`,
    );
  }
}

/** The passages that are not removed, in their order. */
async function* liveOf(
  segments: readonly Segment[],
  { onShare, signal }: Pick<CorpusOptions, "onShare" | "signal">,
): AsyncGenerator<Passage> {
  const total = segments.reduce((sum, { entry }) => sum + entry.count, 0);
  let before = 0;
  for (const segment of segments) {
    for (let first = 0; first < segment.entry.count; first += batchSize) {
      throwIfAborted(signal, "index");
      const count = Math.min(batchSize, segment.entry.count - first);
      const rows = Array.from({ length: count }, (_, i) => first + i).filter(
        (row) => !segment.isRemoved(row),
      );
      yield* await segment.passages.getMany(Int32Array.from(rows));
      onShare?.((before + first + count) / total);
    }
    before += segment.entry.count;
  }
}

/** The settings of the merged index, whose embedder is copied into its segment. */
async function takeSettings({ folder, manifest }: Source, { name, path }: Change): Promise<IndexSettings> {
  const { settings } = manifest;
  const from = embedderSegment(settings);
  const { dense } = settings;
  if (dense?.embedder.kind !== "hashed" || from === undefined) return settings;
  await copyFile(
    join(folder, segmentFolder({ name: from }), segmentFiles.embedder),
    join(path, segmentFiles.embedder),
  );
  return { ...settings, dense: { ...dense, embedder: { ...dense.embedder, segment: name } } };
}

async function writeMerged(
  sources: readonly Source[],
  change: Change,
  { onProgress, signal }: MergeOptions,
): Promise<Manifest> {
  const [first] = sources as [Source, ...Source[]];
  const { name, path } = change;
  const segments = sources.flatMap((source) => source.segments);
  const settings = await takeSettings(first, change);
  await storePassages(path, (onShare) => liveOf(segments, { onShare, signal }), { onProgress, signal });
  const store = await PassageStore.open(join(path, segmentFiles.passages));
  try {
    const work = { path, store, onProgress, signal };
    if (settings.bm25) await buildBm25(work, settings.bm25);
    const { dense } = settings;
    if (dense)
      await mergeVectors(
        work,
        dense,
        segments.flatMap(({ rows }) => rows ?? []),
      );
    const segment = await describeSegment(name, work, settings);
    return { format: "seekrl-index", version: 2, settings, segments: [segment] };
  } finally {
    store.close();
  }
}

/**
 * Joins indexes into one with a single segment: passages in the order of the folders, removed ones left out, vectors
 * copied as they are stored. Parts that were built on several machines become one index so, and an index with many
 * segments or removed passages becomes small and quick again when `out` is its own folder.
 *
 * @param folders indexes with the same settings and the same embedder
 * @param out the folder to write: one of `folders`, or one without an index
 * @param options progress and signal
 * @returns the manifest
 * @throws ERR_ARGUMENT for indexes that do not go together, ids that two of them share, or an `out` that holds another
 * index; ERR_IO, ERR_FORMAT, ERR_STATE, ERR_ABORTED
 * @example
 * await mergeIndexes(["index"], "index"); // one segment, without what was removed
 */
export async function mergeIndexes(
  folders: readonly string[],
  out: string,
  options: MergeOptions = {},
): Promise<Manifest> {
  checkArgument("mergeIndexes: folders", folders, "list");
  checkArgument("mergeIndexes: out", out, "string");
  checkOptions("mergeIndexes", options, { onProgress: "function", signal: "signal" });
  const isOwn = folders.some((folder) => resolve(folder) === resolve(out));
  for (const folder of folders) await needManifest(folder);
  const merged = await changeFolder(out, async (change) => {
    if (change.current && !isOwn)
      throw new SeekError("ERR_ARGUMENT", `${out}: holds an index that is not among those to be merged`);
    const sources: Source[] = [];
    try {
      for (const folder of folders) sources.push(await openSource(folder));
      await checkAlike(sources);
      await checkUniqueIds(sources.flatMap(({ segments }) => segments));
      return await writeMerged(sources, change, options);
    } finally {
      for (const source of sources) source.close();
    }
  });
  return merged as Manifest;
}
