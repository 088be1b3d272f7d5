/** One segment of an index, opened: passages, their indexes, and which of them are removed. */
import { join } from "node:path";
import type { Analyser } from "../../text/analysis/words.ts";
import { Bm25Index } from "../bm25.ts";
import { PassageStore } from "../corpus/passage-store.ts";
import { VectorIndex } from "../vector-index.ts";
import { readRemovedRows } from "./change/removed-rows.ts";
import type { FileChecks } from "./file-checks.ts";
import { type SegmentEntry, segmentFolder } from "./manifest.ts";

/** The files of a segment, beside the one that lists removed passages. */
export const segmentFiles = {
  passages: "passages.bin",
  bm25: "bm25.bin",
  vectors: "vectors.bin",
  rows: "rows.bin",
  embedder: "embedder.bin",
} as const;

/** What of an index is opened beside its passages. */
export interface Wanted {
  readonly bm25: boolean;
  readonly dense: boolean;
  readonly embedder: boolean;
}

/** A segment that is ready to be searched. */
export class Segment {
  readonly entry: SegmentEntry;
  readonly passages: PassageStore;
  readonly bm25: Bm25Index | undefined;
  readonly vectors: VectorIndex | undefined;
  /** The vectors in the finest form that is kept. */
  readonly rows: VectorIndex | undefined;
  /** Numbers of removed passages, ascending. */
  readonly removed: Int32Array;

  private constructor(parts: Pick<Segment, "entry" | "passages" | "bm25" | "vectors" | "rows" | "removed">) {
    this.entry = parts.entry;
    this.passages = parts.passages;
    this.bm25 = parts.bm25;
    this.vectors = parts.vectors;
    this.rows = parts.rows;
    this.removed = parts.removed;
  }

  /** Maps a segment's files. @throws ERR_IO, ERR_FORMAT naming the file */
  static async open(
    entry: SegmentEntry,
    checks: FileChecks,
    wanted: Omit<Wanted, "embedder"> & { readonly analyser: Analyser },
    device: string | undefined = undefined,
  ): Promise<Segment> {
    const opened: { close(): void }[] = [];
    const open: OpenPart = async (name, how) => {
      const part = await checks.open(join(segmentFolder(entry), name), entry.files[name], how);
      opened.push(part);
      return part;
    };
    try {
      const passages = await open(segmentFiles.passages, (path, verify) =>
        PassageStore.open(path, { verify }),
      );
      const bm25 = wanted.bm25
        ? await open(segmentFiles.bm25, (path, verify) =>
            Bm25Index.open(path, { verify, analyser: wanted.analyser }),
          )
        : undefined;
      const { rows, vectors } = wanted.dense ? await openVectors(entry, open, device) : noVectors;
      const removed = await openRemoved(entry, checks);
      checks.same(entry, [passages.size, bm25?.size, vectors?.size, rows?.size]);
      for (const index of [vectors, rows]) index?.remove(removed);
      return new Segment({ entry, passages, bm25, vectors, rows: rows ?? vectors, removed });
    } catch (error) {
      for (const part of opened) part.close();
      throw error;
    }
  }

  /** Passages that can be found. */
  get numLive(): number {
    return this.entry.count - this.removed.length;
  }

  /** Whether a passage is removed. */
  isRemoved(row: number): boolean {
    let [low, high] = [0, this.removed.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.removed[middle] ?? 0) < row) low = middle + 1;
      else high = middle;
    }
    return this.removed[low] === row;
  }

  /** Unmaps the files once running searches have ended. */
  close(): void {
    for (const part of [this.passages, this.bm25, this.vectors, this.rows]) part?.close();
  }
}

/** Opens one of a segment's files, to be closed with the others when one cannot be opened. */
type OpenPart = <T extends { close(): void }>(
  name: string,
  how: (path: string, verify: boolean) => Promise<T>,
) => Promise<T>;

interface SegmentVectors {
  readonly vectors?: VectorIndex | undefined;
  /** Finer ones, which the others are compared again with. */
  readonly rows?: VectorIndex | undefined;
}

const noVectors: SegmentVectors = {};

async function openVectors(
  { files, vectors: kind }: SegmentEntry,
  open: OpenPart,
  device: string | undefined,
): Promise<SegmentVectors> {
  const rows =
    files[segmentFiles.rows] === undefined
      ? undefined
      : await open(segmentFiles.rows, (path, verify) => VectorIndex.open(path, { kind: "exact", verify }));
  const vectors =
    kind &&
    (await open(segmentFiles.vectors, (path, verify) =>
      VectorIndex.open(path, { kind, verify, rescore: rows, device }),
    ));
  return { rows, vectors };
}

async function openRemoved(entry: SegmentEntry, checks: FileChecks): Promise<Int32Array> {
  const { removed } = entry;
  if (removed === undefined) return new Int32Array();
  const path = join(segmentFolder(entry), removed.file);
  const rows = await checks.open(path, entry.files[removed.file], readRemovedRows);
  checks.same({ ...entry, count: removed.count }, [rows.length]);
  return rows;
}
