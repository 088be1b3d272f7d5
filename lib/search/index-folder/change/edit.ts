/** Adds passages to an index and removes passages from it. */

import { join } from "node:path";
import { checkArgument, checkOptions, type OptionKinds } from "../../../base/check-options.ts";
import { throwIfAborted } from "../../../base/errors.ts";
import { openStore } from "../build/build.ts";
import { buildSegment, storePassages } from "../build/build-segment.ts";
import type { Listener } from "../build/build-steps.ts";
import { changeFolder, sizesOf } from "../change.ts";
import { type Corpus, checkSplit, passagesOf, requirePassages, type Split } from "../corpus.ts";
import { analyserOf, embedderSegment, type Manifest, type SegmentEntry, segmentFolder } from "../manifest.ts";
import { needManifest, openFiles } from "../open.ts";
import { type Segment, segmentFiles } from "../segment.ts";
import { checkUniqueIds } from "../unique-ids.ts";
import { writeRemovedRows } from "./removed-rows.ts";

/** How passages are added. */
export interface AddOptions {
  /** How documents are cut into passages. @default "auto" */
  readonly split?: Split;
  /** Called after every batch. */
  readonly onProgress?: Listener["onProgress"];
  readonly signal?: AbortSignal;
  /** The folder of the encoder, if it is not where it was when the index was built. */
  readonly encoder?: string;
  /** What an encoder runs on. @default "cpu" */
  readonly device?: string;
}

const addKinds: OptionKinds<AddOptions> = {
  split: checkSplit,
  onProgress: "function",
  signal: "signal",
  encoder: "string",
  device: "string",
};

/** Uses the segments' passages without their indexes. */
async function withPassages<T>(
  folder: string,
  manifest: Manifest,
  use: (segments: readonly Segment[]) => Promise<T>,
): Promise<T> {
  const files = await openFiles(folder, manifest, { bm25: false, dense: false, embedder: false });
  try {
    return await use(files.segments);
  } finally {
    files.close();
  }
}

/**
 * Adds passages as a new segment, indexed as the others are. The hashed embedder stays as it is: it weighs words by the
 * corpus of the first build. The index is as before until the end, and searches that have it open do not notice.
 *
 * @param folder the index
 * @param corpus the new passages, whose ids are in none of the index
 * @param options how to cut, progress, signal, and where an encoder is
 * @returns the manifest
 * @throws ERR_ARGUMENT for an id that the index has; ERR_IO, ERR_FORMAT, ERR_STATE, ERR_ABORTED
 * @example
 * await addToIndex("index", [{ id: "n1", title: "Rome", text: "Rome is the capital of Italy." }]);
 */
export async function addToIndex(
  folder: string,
  corpus: Corpus,
  options: AddOptions = {},
): Promise<Manifest> {
  checkArgument("addToIndex: folder", folder, "string");
  checkOptions("addToIndex", options, addKinds);
  await needManifest(folder);
  await requirePassages(corpus, options);
  const manifest = await changeFolder(folder, async ({ name, path }) => {
    const current = await needManifest(folder);
    await storePassages(path, (onShare) => passagesOf(corpus, { ...options, onShare }), options);
    const store = await openStore(path);
    try {
      if (store.size === 0) return undefined;
      await withPassages(folder, current, (segments) =>
        checkUniqueIds([...segments, { passages: store, removed: new Int32Array() }]),
      );
      const { settings } = current;
      const fitted = segmentFolder({ name: embedderSegment(settings) ?? "" });
      const { encoder, device } = options;
      const hashed = join(folder, fitted, segmentFiles.embedder);
      const place = { hashed, analyser: analyserOf(settings), verify: true, encoder, device };
      const segment = await buildSegment(name, { path, store, ...options }, { settings, place });
      return { ...current, segments: [...current.segments, segment] };
    } finally {
      store.close();
    }
  });
  return manifest as Manifest;
}

/** What became of ids that were to be removed. */
export interface Removal {
  /** Passages that are found no more. */
  readonly removed: number;
  /** Ids that the index did not hold. */
  readonly missing: readonly string[];
}

/** The numbers of live passages with these ids in one segment. */
async function rowsOf(segment: Segment, ids: readonly string[]): Promise<[id: string, row: number][]> {
  const found = await segment.passages.find(ids);
  return ids
    .map((id, i): [string, number] => [id, found[i] ?? -1])
    .filter(([, row]) => row >= 0 && !segment.isRemoved(row));
}

const removedFile = /^removed-(\d+)\.bin$/;

/** Writes a segment's list of removed passages anew, with some more. */
async function removeRows(
  folder: string,
  { entry, removed }: Segment,
  rows: readonly number[],
): Promise<SegmentEntry> {
  const all = Int32Array.from([...removed, ...rows]).sort();
  const [, number = "0"] = removedFile.exec(entry.removed?.file ?? "") ?? [];
  const file = `removed-${Number(number) + 1}.bin`;
  const path = join(folder, segmentFolder(entry));
  await writeRemovedRows(join(path, file), all);
  const others = Object.entries(entry.files).filter(([name]) => name !== entry.removed?.file);
  const files = { ...Object.fromEntries(others), ...(await sizesOf(path, [file])) };
  return { ...entry, removed: { count: all.length, file }, files };
}

/**
 * Removes passages: no search that is opened afterwards finds them. Their room on the disk is given back by a merge.
 *
 * @param folder the index
 * @param ids of the passages
 * @param options signal
 * @returns how many were removed, and which ids were not there
 * @throws ERR_IO, ERR_FORMAT, ERR_STATE, ERR_ABORTED
 * @example
 * const { missing } = await removeFromIndex("index", ["n1"]);
 */
export async function removeFromIndex(
  folder: string,
  ids: readonly string[],
  options: Pick<AddOptions, "signal"> = {},
): Promise<Removal> {
  checkArgument("removeFromIndex: folder", folder, "string");
  const { signal } = checkOptions("removeFromIndex", options, { signal: "signal" });
  const wanted = [...new Set(ids)];
  const there = new Set<string>();
  await needManifest(folder);
  await changeFolder(folder, async () => {
    const current = await needManifest(folder);
    return withPassages(folder, current, async (segments) => {
      const changed: SegmentEntry[] = [];
      for (const segment of segments) {
        throwIfAborted(signal, "index");
        const found = await rowsOf(segment, wanted);
        for (const [id] of found) there.add(id);
        const rows = found.map(([, row]) => row);
        changed.push(rows.length === 0 ? segment.entry : await removeRows(folder, segment, rows));
      }
      return there.size === 0 ? undefined : { ...current, segments: changed };
    });
  });
  return { removed: there.size, missing: wanted.filter((id) => !there.has(id)) };
}
