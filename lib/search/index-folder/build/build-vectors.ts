/** The vectors of a segment: rows are written as they are embedded, then an index is made over them. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { measureRecall } from "../../measure-recall.ts";
import {
  type OpenVectorIndexOptions,
  type VectorDtype,
  VectorIndex,
  type VectorIndexKind,
} from "../../vector-index.ts";
import { VectorRowsWriter } from "../../vector-rows-writer.ts";
import { type EmbedderPlace, openEmbedder } from "../embedders.ts";
import type { DenseSettings } from "../manifest.ts";
import { segmentFiles } from "../segment.ts";
import { eachRange, isThere, type SegmentWork } from "./build-steps.ts";
import { trackStage } from "./progress.ts";
import { kindFor } from "./settings.ts";

/** Which files a segment's vectors stand in. */
interface VectorLayout {
  readonly kind: VectorIndexKind;
  /** How rows are kept for scoring candidates again; undefined when the index's own form is all there is. */
  readonly finer: VectorDtype | undefined;
}

/** Vectors in one or eight bits are scored again in this form. */
const finerDtype = "bf16";

/** The layout of a segment of so many passages. */
export function layoutOf(dense: DenseSettings, count: number): VectorLayout {
  return { kind: kindFor(dense, count), finer: dense.rescore ? finerDtype : undefined };
}

/** The files of a layout. */
export function filesOf({ finer }: VectorLayout): string[] {
  return finer ? [segmentFiles.vectors, segmentFiles.rows] : [segmentFiles.vectors];
}

/** Embeds the passages that have no row yet; a kill costs the last batch. */
async function embedRows(
  work: SegmentWork,
  dense: DenseSettings,
  place: EmbedderPlace,
  { path, dtype }: { path: string; dtype: VectorDtype },
): Promise<void> {
  if (await isThere(path)) return;
  const { dim } = dense.embedder;
  const embedder = await openEmbedder(dense.embedder, place);
  try {
    const writer = await VectorRowsWriter.open(path, { dim, dtype, metric: dense.metric });
    try {
      const heeded = work.signal ? { signal: work.signal } : {};
      await eachRange(
        work,
        "vectors",
        async (range) => writer.add(await embedder.embedRange(range, heeded)),
        writer.size,
      );
      await writer.finish();
    } finally {
      writer.close();
    }
  } finally {
    embedder.close();
  }
}

/** Vectors of an index, from `begin` up to, not including, `end`. */
interface VectorRange {
  readonly index: VectorIndex;
  readonly begin: number;
  readonly end: number;
}

const everyVector = (index: VectorIndex): VectorRange => ({ index, begin: 0, end: index.size });

/** How an index is made of other indexes' vectors. */
interface Copy {
  readonly kind: VectorIndexKind;
  readonly dtype: VectorDtype;
  /** Their vectors follow one another, removed ones left out. */
  readonly sources: readonly VectorRange[];
}

/** Makes an index of the vectors of others, without embedding anything again. */
async function copyVectors(
  { path, store, onProgress, signal }: SegmentWork,
  file: string,
  dense: DenseSettings,
  { kind, dtype, sources }: Copy,
): Promise<void> {
  const { metric, graph, embedder } = dense;
  const index = VectorIndex.create(kind, { metric, dtype, graph, dim: embedder.dim, capacity: store.size });
  try {
    const track = trackStage(onProgress, "graph", { total: store.size });
    for (const { index: source, begin, end } of sources) {
      const before = index.size;
      await index.addFrom(source, {
        ...{ begin, end },
        onProgress: ({ done }) => track(Math.min(store.size, before + done)),
        signal,
      });
    }
    await index.save(join(path, file));
  } finally {
    index.close();
  }
}

async function withRows(path: string, use: (rows: VectorIndex) => Promise<void>): Promise<void> {
  const rows = await VectorIndex.open(path, { kind: "exact" });
  try {
    await use(rows);
  } finally {
    rows.close();
  }
}

/** Embeds a segment's passages and indexes their vectors, as far as that is not done. */
export async function buildVectors(
  work: SegmentWork,
  dense: DenseSettings,
  place: EmbedderPlace,
): Promise<void> {
  if (await isThere(join(work.path, segmentFiles.vectors))) return;
  const { kind, finer } = layoutOf(dense, work.store.size);
  const isDirect = kind === "exact" && finer === undefined;
  const path = join(work.path, isDirect ? segmentFiles.vectors : segmentFiles.rows);
  await embedRows(work, dense, place, { path, dtype: finer ?? dense.dtype });
  if (isDirect) return;
  await withRows(path, (rows) =>
    copyVectors(work, segmentFiles.vectors, dense, {
      kind,
      dtype: dense.dtype,
      sources: [everyVector(rows)],
    }),
  );
  if (finer === undefined) await rm(path);
}

/**
 * Indexes the vectors of other segments anew.
 *
 * @param work the segment that shall hold them
 * @param dense the index's settings
 * @param sources the vectors of each, in the finest form that is kept
 */
export async function mergeVectors(
  work: SegmentWork,
  dense: DenseSettings,
  sources: readonly VectorRange[],
): Promise<void> {
  const { kind, finer } = layoutOf(dense, work.store.size);
  const { dtype } = dense;
  if (finer === undefined) return copyVectors(work, segmentFiles.vectors, dense, { kind, dtype, sources });
  await copyVectors(work, segmentFiles.rows, dense, { kind: "exact", dtype: finer, sources });
  await withRows(join(work.path, segmentFiles.rows), (rows) =>
    copyVectors(work, segmentFiles.vectors, dense, { kind, dtype, sources: [everyVector(rows)] }),
  );
}

/**
 * The share of the true ten nearest that searches of a segment find, for 200 of its own vectors.
 *
 * @returns undefined where every vector is compared in the only form there is
 */
export async function recallOf(path: string, { kind, finer }: VectorLayout): Promise<number | undefined> {
  if (kind === "exact" && finer === undefined) return undefined;
  const open = (file: string, options: OpenVectorIndexOptions): Promise<VectorIndex> =>
    VectorIndex.open(join(path, file), { ...options, verify: false });
  const rescore = finer ? await open(segmentFiles.rows, { kind: "exact" }) : undefined;
  try {
    const index = await open(segmentFiles.vectors, { kind, rescore });
    return await measureRecall(index).finally(() => index.close());
  } finally {
    rescore?.close();
  }
}
