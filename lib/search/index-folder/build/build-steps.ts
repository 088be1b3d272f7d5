/** What the steps of building share: passages by ranges, progress, files that are whole once they are there. */
import { access } from "node:fs/promises";
import { throwIfAborted } from "../../../base/errors.ts";
import type { PassageStore } from "../../corpus/passage-store.ts";
import type { StoredRange } from "../embedders.ts";
import { type IndexStage, type OnIndexProgress, trackStage } from "./progress.ts";

/** Progress and abort, which every step of building has. */
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

/** As many passages as are embedded in some milliseconds. */
const batchSize = 1024;

/** Whether a step's file is there; it appears whole or not at all. */
export async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Runs a step over the passages from number `from` on, a range at a time. */
export async function eachRange(
  { store, onProgress, signal }: SegmentWork,
  stage: IndexStage,
  use: (range: StoredRange) => Promise<void>,
  from = 0,
): Promise<void> {
  const track = trackStage(onProgress, stage, { total: store.size, from });
  for (let first = from; first < store.size; first += batchSize) {
    throwIfAborted(signal, "index");
    const count = Math.min(batchSize, store.size - first);
    await use({ store, first, count });
    track(first + count);
  }
}
