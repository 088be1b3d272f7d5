/** Writes the files of one segment; a file that is there is whole, and a build that goes on takes it as it is. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { throwIfAborted } from "../base/errors.ts";
import { indexedText, type Passage } from "../corpus/passage.ts";
import { type PassageStore, writePassageStore } from "../corpus/passage-store.ts";
import { HashedEmbedder } from "../embed/hashed-embedder.ts";
import { Bm25Builder } from "../search/bm25.ts";
import { VectorIndex } from "../search/vector-index.ts";
import type { PassageRange } from "../text/lexicon.ts";
import { sizesOf } from "./change.ts";
import type { DenseSettings, IndexSettings, SegmentEntry } from "./manifest.ts";
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
  use: (range: PassageRange) => Promise<void>,
): Promise<void> {
  const track = trackStage(onProgress, stage, { total: store.size });
  for (let first = 0; first < store.size; first += batchSize) {
    throwIfAborted(signal, "index");
    const count = Math.min(batchSize, store.size - first);
    await use({ store, first, count });
    track(first + count);
  }
}

async function buildBm25(work: SegmentWork, settings: NonNullable<IndexSettings["bm25"]>): Promise<void> {
  const builder = new Bm25Builder({ ...settings, scratch: work.path });
  try {
    await eachRange(work, "bm25", (range) => builder.add(range));
    await builder.save(join(work.path, segmentFiles.bm25));
  } finally {
    builder.close();
  }
}

/** Learns the embedder from the passages. */
export async function fitEmbedder(work: SegmentWork, { embedder: { dim } }: DenseSettings): Promise<void> {
  async function* texts(): AsyncGenerator<string> {
    const track = trackStage(work.onProgress, "embedder", { total: work.store.size });
    let done = 0;
    for await (const passage of work.store) {
      yield indexedText(passage);
      done += 1;
      if (done % batchSize === 0 || done === work.store.size) track(done);
    }
  }
  const { signal } = work;
  const embedder = await HashedEmbedder.fit(texts(), { dim, ...(signal ? { signal } : {}) });
  try {
    await embedder.save(join(work.path, segmentFiles.embedder));
  } finally {
    embedder.close();
  }
}

async function buildVectors(
  work: SegmentWork,
  dense: DenseSettings,
  embedder: HashedEmbedder,
): Promise<void> {
  const { metric, dtype, graph } = dense;
  const index = VectorIndex.create(kindFor(dense, work.store.size), {
    ...{ metric, dtype, graph, dim: embedder.dim, capacity: work.store.size },
  });
  try {
    await eachRange(work, "vectors", async (range) => index.add(await embedder.embedPassages(range)));
    await index.save(join(work.path, segmentFiles.vectors));
  } finally {
    index.close();
  }
}

/**
 * Writes the indexes of a segment whose passages are stored, those that are missing.
 *
 * @param work the segment
 * @param settings the index's
 * @param embedder opens the embedder, which the caller does not close; called only when there are vectors to make
 * @returns what the manifest says of the segment
 */
export async function buildSegment(
  name: string,
  work: SegmentWork,
  { settings, openEmbedder }: { settings: IndexSettings; openEmbedder: () => Promise<HashedEmbedder> },
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
      const embedder = await openEmbedder();
      await buildVectors(work, dense, embedder).finally(() => embedder.close());
    }
    names.push(segmentFiles.vectors);
    if (dense.embedder.segment === name) names.push(segmentFiles.embedder);
  }
  const vectors = dense ? { vectors: kindFor(dense, store.size) } : {};
  return { name, count: store.size, ...vectors, files: await sizesOf(path, names) };
}
