/** From a corpus to an index folder. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { batchesOf } from "../base/batches.ts";
import { throwIfAborted } from "../base/errors.ts";
import type { Passage } from "../corpus/passage.ts";
import { PassageStore, writePassageStore } from "../corpus/passage-store.ts";
import { readDocuments } from "../corpus/read-documents.ts";
import { HashedEmbedder } from "../embed/hashed-embedder.ts";
import { Bm25Builder, type Bm25Options } from "./bm25.ts";
import { describeFiles, type Manifest, manifestFile, writeManifest } from "./manifest.ts";
import { graphDefaults, VectorIndex, type VectorIndexKind, type VectorIndexOptions } from "./vector-index.ts";

/** The files of an index folder beside its manifest. */
export const indexFiles = {
  passages: "passages.bin",
  bm25: "bm25.bin",
  vectors: "vectors.bin",
  embedder: "embedder.bin",
} as const;

/** How to embed the passages and to index the vectors. */
export interface DenseOptions extends Omit<VectorIndexOptions, "dim" | "capacity"> {
  /** Width of a vector. @default 512 */
  readonly dim?: number;
}

/** What to build. */
export interface BuildIndexOptions {
  /** A path that `readDocuments` reads, or passages. */
  readonly corpus: string | Iterable<Passage> | AsyncIterable<Passage>;
  /** The folder to write; an index in it is replaced. */
  readonly out: string;
  /** `bm25`: by words; `exact` and `hnsw`: by vectors of the hashed embedder. @default "bm25" */
  readonly kind?: "bm25" | VectorIndexKind;
  readonly bm25?: Bm25Options;
  readonly dense?: DenseOptions;
  /** Called after every batch. */
  readonly onProgress?: (progress: IndexProgress) => void;
  readonly signal?: AbortSignal;
}

/** How far a build has come. */
export interface IndexProgress {
  readonly stage: "embedder" | "index";
  readonly done: number;
  readonly total: number;
}

type Work = Pick<BuildIndexOptions, "onProgress" | "signal"> & {
  readonly store: PassageStore;
  readonly out: string;
};

/** Small enough that cutting a batch into words holds up the event loop for milliseconds only. */
const batchSize = 256;

/** What is indexed of a passage. */
export function indexedText({ title, text }: Passage): string {
  return `${title}\n${text}`;
}

/** Batches of indexed texts, with progress reported after each and the signal heeded before. */
async function* textBatches(work: Work, stage: IndexProgress["stage"]): AsyncGenerator<string[]> {
  const { store, onProgress, signal } = work;
  let done = 0;
  for await (const batch of batchesOf(store, batchSize)) {
    throwIfAborted(signal, "index");
    yield batch.map(indexedText);
    done += batch.length;
    onProgress?.({ stage, done, total: store.size });
  }
}

async function buildLexical(work: Work, { k1 = 1.2, b = 0.75 }: Bm25Options): Promise<Manifest> {
  const { out, store } = work;
  const builder = new Bm25Builder({ k1, b });
  try {
    for await (const texts of textBatches(work, "index")) await builder.add(texts);
    await builder.save(join(out, indexFiles.bm25));
  } finally {
    builder.close();
  }
  const files = await describeFiles(out, [indexFiles.passages, indexFiles.bm25]);
  return { format: "seekrl-index", version: 1, kind: "bm25", count: store.size, k1, b, files };
}

async function fitEmbedder(work: Work, dim: number): Promise<HashedEmbedder> {
  async function* texts(): AsyncGenerator<string> {
    for await (const batch of textBatches(work, "embedder")) yield* batch;
  }
  return HashedEmbedder.fit(texts(), { dim });
}

async function buildDense(work: Work, kind: VectorIndexKind, options: DenseOptions): Promise<Manifest> {
  const { dim = 512, metric = "cos", dtype = "bf16" } = options;
  const { out, store } = work;
  const embedder = await fitEmbedder(work, dim);
  const index = VectorIndex.create(kind, { ...options, dim, metric, dtype, capacity: store.size });
  try {
    for await (const texts of textBatches(work, "index"))
      await index.add(await embedder.embedPassages(texts));
    await index.save(join(out, indexFiles.vectors));
    await embedder.save(join(out, indexFiles.embedder));
  } finally {
    index.close();
    embedder.close();
  }
  const files = await describeFiles(out, [indexFiles.passages, indexFiles.vectors, indexFiles.embedder]);
  const made = { format: "seekrl-index", version: 1, count: store.size, files } as const;
  const graph = kind === "hnsw" ? { graph: { ...graphDefaults, ...options.graph } } : {};
  return { ...made, kind, embedder: "hashed", dim, metric, dtype, ...graph };
}

/**
 * Writes an index folder: the passages, the index, and at the very end the manifest that makes it one.
 *
 * @param options - corpus, folder, kind of index and its settings
 * @returns the manifest
 * @throws ERR_IO, ERR_FORMAT for a corpus that cannot be read; ERR_RANGE, ERR_ARGUMENT for options; ERR_ABORTED
 * @example
 * await buildIndex({ corpus: "passages.jsonl", out: "index", kind: "bm25" });
 */
export async function buildIndex(options: BuildIndexOptions): Promise<Manifest> {
  const { corpus, out, kind = "bm25", bm25 = {}, dense = {} } = options;
  await mkdir(out, { recursive: true });
  await rm(join(out, manifestFile), { force: true });
  const passages = typeof corpus === "string" ? readDocuments(corpus) : corpus;
  await writePassageStore(join(out, indexFiles.passages), passages, options);
  const store = await PassageStore.open(join(out, indexFiles.passages));
  try {
    const work: Work = { ...options, store };
    const made = kind === "bm25" ? await buildLexical(work, bm25) : await buildDense(work, kind, dense);
    await writeManifest(out, made);
    return made;
  } finally {
    store.close();
  }
}
