/** Writes the files of one segment; a file that is there is whole, and a build that goes on takes it as it is. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { throwIfAborted } from "../base/errors.ts";
import type { Passage } from "../corpus/passage.ts";
import { type PassageStore, writePassageStore } from "../corpus/passage-store.ts";
import { HashedEmbedder } from "../embed/hashed-embedder.ts";
import { Bm25Builder } from "../search/bm25.ts";
import { VectorIndex } from "../search/vector-index.ts";
import { sizesOf } from "./change.ts";
import { type EmbedderPlace, type FolderEmbedder, openEmbedder, type StoredRange } from "./embedders.ts";
import { type DenseSettings, embedderSegment, type IndexSettings, type SegmentEntry } from "./manifest.ts";
import { type IndexStage, type OnIndexProgress, trackStage } from "./progress.ts";
import { segmentFiles } from "./segment.ts";
import { kindFor } from "./settings.ts";

/** What every step of building hears and heeds. */
export interface Listener {
  readonly onProgress?: OnIndexProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A segment whose passages are stored. */
export interface SegmentWork extends Listener {
  /** Its folder. */
  readonly path: string;
  readonly store: PassageStore;
}

/** As many passages as are cut and embedded in some milliseconds. */
const batchSize = 1024;

/** Whether a step's file is there; it appears whole or not at all. */
export async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Stores passages as they come. */
export async function storePassages(
  path: string,
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  { onProgress, signal }: Listener,
): Promise<void> {
  const track = trackStage(onProgress, "passages");
  async function* counted(): AsyncGenerator<Passage> {
    let done = 0;
    for await (const passage of passages) {
      yield passage;
      done += 1;
      if (done % batchSize === 0) track(done);
    }
    track(done);
  }
  await writePassageStore(join(path, segmentFiles.passages), counted(), signal ? { signal } : {});
}

/** Runs a step over all passages, a range at a time. */
async function eachRange(
  { store, onProgress, signal }: SegmentWork,
  stage: IndexStage,
  use: (range: StoredRange) => Promise<void>,
): Promise<void> {
  const track = trackStage(onProgress, stage, { total: store.size });
  for (let first = 0; first < store.size; first += batchSize) {
    throwIfAborted(signal, "index");
    const count = Math.min(batchSize, store.size - first);
    await use({ store, first, count });
    track(first + count);
  }
}

const everyPassage = ({ store }: SegmentWork): StoredRange => ({ store, first: 0, count: store.size });

async function buildBm25(work: SegmentWork, settings: NonNullable<IndexSettings["bm25"]>): Promise<void> {
  const { path, store, signal } = work;
  const builder = new Bm25Builder({ ...settings, scratch: path });
  try {
    const onProgress = trackStage(work.onProgress, "bm25", { total: store.size });
    await builder.add(everyPassage(work), { onProgress, signal });
    await builder.save(join(path, segmentFiles.bm25));
  } finally {
    builder.close();
  }
}

/** Learns the embedder from the passages. */
export async function fitEmbedder(work: SegmentWork, dim: number): Promise<void> {
  const onProgress = trackStage(work.onProgress, "embedder", { total: work.store.size });
  const { signal } = work;
  const embedder = await HashedEmbedder.fit(everyPassage(work), { dim, onProgress, signal });
  try {
    await embedder.save(join(work.path, segmentFiles.embedder));
  } finally {
    embedder.close();
  }
}

async function buildVectors(
  work: SegmentWork,
  dense: DenseSettings,
  embedder: FolderEmbedder,
): Promise<void> {
  const { metric, dtype, graph } = dense;
  const index = VectorIndex.create(kindFor(dense, work.store.size), {
    ...{ metric, dtype, graph, dim: embedder.dim, capacity: work.store.size },
  });
  try {
    const { signal } = work;
    const heeded = signal ? { signal } : {};
    await eachRange(work, "vectors", async (range) => index.add(await embedder.embedRange(range, heeded)));
    await index.save(join(work.path, segmentFiles.vectors));
  } finally {
    index.close();
  }
}

/** The index that a segment belongs to. */
export interface SegmentIndex {
  readonly settings: IndexSettings;
  /** Its embedder, which is opened only when there are vectors to make. */
  readonly place: EmbedderPlace;
}

/**
 * Writes the indexes of a segment whose passages are stored, those that are missing.
 *
 * @param name the segment's
 * @param work its passages
 * @param index settings and embedder
 * @returns what the manifest says of the segment
 */
export async function buildSegment(
  name: string,
  work: SegmentWork,
  { settings, place }: SegmentIndex,
): Promise<SegmentEntry> {
  const { path, store } = work;
  const { bm25, dense } = settings;
  const names: string[] = [segmentFiles.passages];
  if (bm25) {
    if (!(await isThere(join(path, segmentFiles.bm25)))) await buildBm25(work, bm25);
    names.push(segmentFiles.bm25);
  }
  if (dense) {
    if (!(await isThere(join(path, segmentFiles.vectors)))) {
      const embedder = await openEmbedder(dense.embedder, place);
      await buildVectors(work, dense, embedder).finally(() => embedder.close());
    }
    names.push(segmentFiles.vectors);
    if (embedderSegment(settings) === name) names.push(segmentFiles.embedder);
  }
  const vectors = dense ? { vectors: kindFor(dense, store.size) } : {};
  return { name, count: store.size, ...vectors, files: await sizesOf(path, names) };
}
