/** Writes the files of one segment; a file that is there is whole, and a build that goes on takes it as it is. */
import { join } from "node:path";
import type { Analyser } from "../../../text/analysis/words.ts";
import { Bm25Builder } from "../../bm25.ts";
import type { Passage } from "../../corpus/passage.ts";
import { writePassageStore } from "../../corpus/passage-store.ts";
import { HashedEmbedder } from "../../embed/hashed-embedder.ts";
import { sizesOf } from "../change.ts";
import type { EmbedderPlace, StoredRange } from "../embedders.ts";
import { analyserOf, embedderSegment, type IndexSettings, type SegmentEntry } from "../manifest.ts";
import { segmentFiles } from "../segment.ts";
import { isThere, type Listener, type SegmentWork } from "./build-steps.ts";
import { buildVectors, filesOf, layoutOf, recallOf } from "./build-vectors.ts";
import { trackStage } from "./progress.ts";

/** How often storing passages is reported. */
const reportEvery = 1024;

/**
 * Stores passages as they come.
 *
 * @param path the segment's folder
 * @param read gives the passages, and the share of their source that is read where it is known
 * @param listener progress and signal
 */
export async function storePassages(
  path: string,
  read: (onShare: (share: number) => void) => AsyncIterable<Passage>,
  { onProgress, signal }: Listener,
): Promise<void> {
  const track = trackStage(onProgress, "passages");
  async function* counted(): AsyncGenerator<Passage> {
    let [done, share] = [0, 0];
    const passages = read((now) => {
      share = now;
    });
    for await (const passage of passages) {
      yield passage;
      done += 1;
      if (done % reportEvery === 0) track(done, share);
    }
    track(done, share);
  }
  await writePassageStore(join(path, segmentFiles.passages), counted(), signal ? { signal } : {});
}

const everyPassage = ({ store }: SegmentWork): StoredRange => ({ store, first: 0, count: store.size });

/** Indexes the passages by words. */
export async function buildBm25(work: SegmentWork, settings: IndexSettings): Promise<void> {
  const { path, store, signal } = work;
  const builder = new Bm25Builder({ ...settings.bm25, analyser: analyserOf(settings), scratch: path });
  try {
    const onProgress = trackStage(work.onProgress, "bm25", { total: store.size });
    await builder.add(everyPassage(work), { onProgress, signal });
    await builder.save(join(path, segmentFiles.bm25));
  } finally {
    builder.close();
  }
}

/** Learns the embedder from the passages. */
export async function fitEmbedder(
  work: SegmentWork,
  { dim, analyser }: { readonly dim: number; readonly analyser: Analyser },
): Promise<void> {
  const onProgress = trackStage(work.onProgress, "embedder", { total: work.store.size });
  const { signal } = work;
  const embedder = await HashedEmbedder.fit(everyPassage(work), { dim, analyser, onProgress, signal });
  try {
    await embedder.save(join(work.path, segmentFiles.embedder));
  } finally {
    embedder.close();
  }
}

/** The index that a segment belongs to. */
interface SegmentIndex {
  readonly settings: IndexSettings;
  /** Its embedder, which is opened only when there are vectors to make. */
  readonly place: EmbedderPlace;
}

/** What the manifest says of a segment whose files are all there. */
export async function describeSegment(
  name: string,
  { path, store }: Pick<SegmentWork, "path" | "store">,
  settings: IndexSettings,
): Promise<SegmentEntry> {
  const { bm25, dense } = settings;
  const names: string[] = [segmentFiles.passages, ...(bm25 ? [segmentFiles.bm25] : [])];
  const common = { name, count: store.size };
  if (dense === undefined) return { ...common, files: await sizesOf(path, names) };
  const layout = layoutOf(dense, store.size);
  const recall = await recallOf(path, layout);
  const embedder = embedderSegment(settings) === name ? [segmentFiles.embedder] : [];
  const files = await sizesOf(path, [...names, ...filesOf(layout), ...embedder]);
  return { ...common, vectors: layout.kind, recall, files };
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
  const { bm25, dense } = settings;
  if (bm25 && !(await isThere(join(work.path, segmentFiles.bm25)))) await buildBm25(work, settings);
  if (dense) await buildVectors(work, dense, place);
  return describeSegment(name, work, settings);
}
