/** Passages on their way into a store: batch by batch, two at a time, with progress. */

import { performance } from "node:perf_hooks";
import { batchesOf } from "../../lib/base/batches.ts";
import type { OptionKinds } from "../../lib/base/check-options.ts";
import { SeekError, throwIfAborted } from "../../lib/base/errors.ts";
import type { Passage } from "../../lib/search/corpus/passage.ts";

/** How passages are brought into a store. */
export interface ImportOptions {
  /** Passages of one request. @default 500 */
  readonly batchSize?: number;
  /** Called after every batch. */
  readonly onProgress?: (progress: ImportProgress) => void;
  readonly signal?: AbortSignal;
}

/** What every import takes. */
export const importKinds: OptionKinds<ImportOptions> = {
  batchSize: "number",
  onProgress: "function",
  signal: "signal",
};

/** How far an import has come. */
export interface ImportProgress {
  /** Stored so far. */
  readonly passages: number;
  readonly passagesPerSecond: number;
}

/** One batch is embedded while another is stored. */
const numInFlight = 2;

/**
 * Hands passages on in batches. A failure ends the import once the batches under way have settled; what was stored
 * stays, and the same import again replaces it by the same.
 *
 * @param passages - each id once
 * @param options - size, progress, signal
 * @param store - embeds and stores one batch
 * @returns the last progress
 * @throws ERR_FORMAT for an id that comes twice in a batch, ERR_ABORTED, whatever `store` throws
 */
export async function inBatches(
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  { batchSize = 500, onProgress, signal }: ImportOptions,
  store: (batch: readonly Passage[]) => Promise<void>,
): Promise<ImportProgress> {
  const started = performance.now();
  let done: ImportProgress = { passages: 0, passagesPerSecond: 0 };
  const storeOne = async (batch: readonly Passage[]): Promise<void> => {
    await store(batch);
    const passages = done.passages + batch.length;
    done = { passages, passagesPerSecond: (1000 * passages) / (performance.now() - started) };
    onProgress?.(done);
  };
  const underWay = new Set<Promise<void>>();
  try {
    for await (const batch of batchesOf(passages, batchSize)) {
      throwIfAborted(signal, "import");
      checkIds(batch);
      const one = storeOne(batch).then(() => void underWay.delete(one));
      underWay.add(one);
      if (underWay.size >= numInFlight) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  } finally {
    await Promise.allSettled(underWay);
  }
  return done;
}

function checkIds(batch: readonly Passage[]): void {
  const ids = new Set<string>();
  for (const { id } of batch) {
    if (ids.has(id)) throw new SeekError("ERR_FORMAT", `passage ${JSON.stringify(id)}: comes twice`);
    ids.add(id);
  }
}
