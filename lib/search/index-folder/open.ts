/** From an index folder to a search. */

import { join } from "node:path";
import { checkArgument, checkOptions, numberIn, type OptionKinds } from "../../base/check-options.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import { Bm25Index } from "../bm25.ts";
import { distinctSearch } from "../distinct.ts";
import type { Search } from "../search.ts";
import { maxGpuCandidates } from "../vector-index.ts";
import { findBuildPlan } from "./build-plan.ts";
import { nextSegment } from "./change.ts";
import { type FolderEmbedder, openEmbedder } from "./embedders.ts";
import { FileChecks, type Verify, verifyKind } from "./file-checks.ts";
import { findRows, firstRows, readHits, type SearchMode } from "./find.ts";
import {
  analyserOf,
  countLive,
  embedderSegment,
  findManifest,
  type Manifest,
  manifestFile,
  segmentFolder,
} from "./manifest.ts";
import { Segment, segmentFiles, type Wanted } from "./segment.ts";
import { IndexShard } from "./shard/shard.ts";

/** How to open an index. */
export interface OpenIndexOptions {
  /** @default "hybrid" for an index with both words and vectors, else whichever it has */
  readonly mode?: SearchMode;
  /** Whose every byte is checked first. @default "touched" */
  readonly verify?: Verify;
  /** The folder of the encoder, if it is not where it was when the index was built. */
  readonly encoder?: string;
  /** What an encoder runs on. @default "cpu" */
  readonly device?: string | undefined;
  /** Where vectors are searched that are `exact` and `bf16`, `i8` or `b1`; those of a graph on the CPU alone. @default "cpu" */
  readonly vectorsDevice?: string | undefined;
  /**
   * Candidates for each result that are scored again by the finer rows kept beside vectors of `i8` and `b1`: more find
   * more of the true nearest, and cost as much more time. @default 4, for `b1` 20
   */
  readonly overFetch?: number | undefined;
  /**
   * Of passages with equal texts only the best is found; a whole that the index is served as a part of does not see it.
   * @default false
   */
  readonly distinct?: boolean | undefined;
}

const optionKinds: OptionKinds<OpenIndexOptions> = {
  mode: ["bm25", "dense", "hybrid"],
  verify: verifyKind,
  encoder: "string",
  device: "string",
  vectorsDevice: "string",
  overFetch: numberIn({ from: 1, to: 65_536, isWhole: true }),
  distinct: "boolean",
};

/** A search over an index folder, to be closed when it is no longer needed. */
export type IndexSearch = Search & {
  /** The index as it was when it was opened; later changes of the folder are not seen. */
  readonly manifest: Manifest;
  readonly mode: SearchMode;
  /** Passages that can be found. */
  readonly size: number;
  /** The index as a part of a larger one. @internal */
  readonly shard: IndexShard;
  /** How much of the files opening had to read to check them; 0 for an index that nobody has touched. */
  readonly checkedBytes: number;
  /** Unmaps the files once running searches have ended; later searches reject with ERR_STATE. */
  close(): void;
};

/** An index's files, opened. */
export interface OpenedIndex {
  readonly segments: readonly Segment[];
  readonly bm25: Bm25Index | undefined;
  readonly embedder: FolderEmbedder | undefined;
  readonly checkedBytes: number;
  close(): void;
}

/** Opens the embedder of an index; undefined where that has no vectors. @throws as {@link openEmbedder} */
export async function openOwnEmbedder(
  { settings, segments }: Manifest,
  checks: FileChecks,
  { encoder, device, verify }: OpenIndexOptions,
): Promise<FolderEmbedder | undefined> {
  const { dense } = settings;
  if (dense === undefined) return undefined;
  const place = { encoder, device, analyser: analyserOf(settings) };
  if (dense.embedder.kind === "encoder")
    return openEmbedder(dense.embedder, { ...place, hashed: "", verify: verify !== "none" });
  const entry = segments.find(({ name }) => name === embedderSegment(settings));
  const file = join(segmentFolder({ name: dense.embedder.segment }), segmentFiles.embedder);
  return checks.open(file, entry?.files[segmentFiles.embedder], (path, check) =>
    openEmbedder(dense.embedder, { ...place, hashed: path, verify: check }),
  );
}

function joinBm25(segments: readonly Segment[]): Bm25Index {
  const firsts = firstRows(segments);
  const removed = segments.map((segment, place) => segment.removed.map((row) => row + (firsts[place] ?? 0)));
  const excluded = Int32Array.from(removed.flatMap((rows) => [...rows]));
  return Bm25Index.join(
    segments.flatMap((segment) => segment.bm25 ?? []),
    { excluded },
  );
}

/** Opens all files of a manifest that are wanted. @throws ERR_IO, ERR_FORMAT naming the file */
export async function openFiles(
  folder: string,
  manifest: Manifest,
  wanted: Wanted,
  options: OpenIndexOptions = {},
): Promise<OpenedIndex> {
  const checks = await FileChecks.begin(folder, options.verify ?? "touched");
  const analyser = analyserOf(manifest.settings);
  const segments: Segment[] = [];
  let embedder: FolderEmbedder | undefined;
  let bm25: Bm25Index | undefined;
  const close = (): void => {
    for (const part of [...segments, embedder, bm25]) part?.close();
  };
  try {
    if (wanted.embedder) embedder = await openOwnEmbedder(manifest, checks, options);
    for (const entry of manifest.segments)
      segments.push(await Segment.open(entry, checks, { ...wanted, analyser }, options.vectorsDevice));
    if (wanted.bm25) bm25 = joinBm25(segments);
  } catch (error) {
    close();
    throw error;
  }
  await checks.end(manifest);
  return { segments, bm25, embedder, checkedBytes: checks.checkedBytes, close };
}

/** How an index can be searched, the usual way first. */
export function modesOf({ settings }: Manifest): readonly SearchMode[] {
  if (settings.dense === undefined) return ["bm25"];
  return settings.bm25 === undefined ? ["dense"] : ["hybrid", "bm25", "dense"];
}

function checkMode(folder: string, mode: SearchMode, { settings }: Manifest): void {
  const missing = (["bm25", "dense"] as const).find((each) => {
    return (mode === each || mode === "hybrid") && settings[each] === undefined;
  });
  if (missing === undefined) return;
  throw new SeekError(
    "ERR_ARGUMENT",
    `mode: expected one that ${folder} holds, got ${mode} without ${missing}`,
  );
}

/** Refuses what would be without effect: options of vectors that this search does not look at. */
function checkVectorOptions(
  { device = "cpu", vectorsDevice, overFetch }: OpenIndexOptions,
  mode: SearchMode,
  { settings: { dense } }: Manifest,
): void {
  const refused = (name: string, expected: string): SeekError =>
    new SeekError("ERR_ARGUMENT", `${name}: expected ${expected}`);
  if (mode === "bm25") {
    const given = Object.entries({ device: device === "cpu" ? undefined : device, vectorsDevice, overFetch });
    const stray = given.find(([, value]) => value !== undefined);
    if (stray)
      throw refused(stray[0], `mode dense or hybrid, which search vectors; got ${stray[1]} with bm25`);
  }
  if (overFetch !== undefined && dense?.rescore === false)
    throw refused(
      "overFetch",
      `an index whose vectors are scored again, got ${dense.dtype} without finer rows`,
    );
}

/** The manifest of a folder that must have one. @throws ERR_IO, ERR_FORMAT */
export async function needManifest(folder: string): Promise<Manifest> {
  const manifest = await findManifest(folder);
  if (manifest) return manifest;
  const begun = await findBuildPlan(join(folder, segmentFolder({ name: nextSegment(undefined) })));
  const state = begun
    ? "no index yet: its build is under way, failed, or was interrupted and can be resumed"
    : "no index";
  throw new SeekError("ERR_IO", `${folder}: ${state}; expected a ${manifestFile}`);
}

/** How often a change may get in the way of opening before that counts as a failure. */
const maxTries = 5;

// Between reading the manifest and opening its files a change may have replaced them.
async function openLatest(
  folder: string,
  options: OpenIndexOptions,
): Promise<{ manifest: Manifest; mode: SearchMode; files: OpenedIndex }> {
  let manifest = await needManifest(folder);
  for (let tries = 1; ; tries += 1) {
    const chosen = options.mode ?? modesOf(manifest)[0] ?? "bm25";
    checkMode(folder, chosen, manifest);
    checkVectorOptions(options, chosen, manifest);
    const [bm25, dense] = [chosen !== "dense", chosen !== "bm25"];
    const wanted = { bm25, dense, embedder: dense };
    try {
      return { manifest, mode: chosen, files: await openFiles(folder, manifest, wanted, options) };
    } catch (error) {
      const latest = await needManifest(folder);
      if (tries === maxTries || JSON.stringify(latest) === JSON.stringify(manifest)) throw error;
      manifest = latest;
    }
  }
}

function depthFor({ vectorsDevice, overFetch = 1 }: OpenIndexOptions): { readonly depth?: number } {
  return vectorsDevice === "cuda" ? { depth: Math.floor(maxGpuCandidates / overFetch) } : {};
}

function checkTopK(topK: number): void {
  if (Number.isInteger(topK) && topK >= 1) return;
  throw new SeekError("ERR_RANGE", `topK: expected a whole number of at least 1, got ${topK}`);
}

/**
 * Opens an index folder: its files are mapped, in milliseconds when nobody has touched them since they were written or
 * checked here. All segments are searched at once; a query that has no word of the corpus has no hits by words.
 *
 * @param folder what {@link buildIndex} wrote
 * @param options how to search, what to check
 * @returns a {@link Search} with the manifest and `close()`; its scores are BM25's, cosines or inner products, or the
 * fused ranks' of mode `hybrid`
 * @throws ERR_IO when there is no index or a file cannot be read, ERR_FORMAT naming the file when one is damaged,
 * ERR_ARGUMENT for a mode that the index does not hold, and for options of vectors where none are searched; the search: ERR_RANGE, ERR_ABORTED, ERR_STATE
 * @example
 * const search = await openIndex("index");
 * const [hits] = await search(["who told the story of the prodigal son"], { topK: 3 });
 * search.close();
 */
export async function openIndex(folder: string, options: OpenIndexOptions = {}): Promise<IndexSearch> {
  checkArgument("openIndex: folder", folder, "string");
  checkOptions("openIndex", options, optionKinds);
  const { manifest, mode, files } = await openLatest(folder, options);
  const { segments, bm25, embedder, checkedBytes, close } = files;
  const finder = { segments, mode, bm25, embedder, overFetch: options.overFetch };
  const shard = new IndexShard({ folder, manifest, finder });
  let [isOpen, numRunning] = [true, 0];
  const closeWhenIdle = (): void => {
    if (isOpen || numRunning > 0) return;
    shard.close();
    close();
  };
  const every: Search = async (queries, { topK, signal }) => {
    checkTopK(topK);
    throwIfAborted(signal, "search");
    if (!isOpen) throw new SeekError("ERR_STATE", `${folder}: the index is closed`);
    numRunning += 1;
    try {
      const found = await findRows(finder, { queries, signal }, topK);
      throwIfAborted(signal, "search");
      return await readHits(segments, found);
    } finally {
      numRunning -= 1;
      closeWhenIdle();
    }
  };
  const search: Search = options.distinct ? distinctSearch(every, depthFor(options)) : every;
  const closeOnce = (): void => {
    isOpen = false;
    closeWhenIdle();
  };
  const size = countLive(manifest);
  return Object.assign(search, { manifest, mode, size, shard, checkedBytes, close: closeOnce });
}
