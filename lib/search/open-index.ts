/** From an index folder to a search. */
import { join } from "node:path";
import { SeekError } from "../base/errors.ts";
import { PassageStore } from "../corpus/passage-store.ts";
import { HashedEmbedder } from "../embed/hashed-embedder.ts";
import { Bm25Index } from "./bm25.ts";
import { indexFiles } from "./build-index.ts";
import { bm25Search, localSearch } from "./local-search.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import type { Search } from "./search.ts";
import { VectorIndex, type VectorIndexKind } from "./vector-index.ts";

/** A search over an index folder, to be closed when it is no longer needed. */
export type IndexSearch = Search & {
  readonly manifest: Manifest;
  readonly store: PassageStore;
  /** Unmaps the files; searches that still run, and later ones, reject with ERR_STATE. */
  close(): void;
};

interface Opened {
  readonly search: Search;
  close(): void;
}

async function openLexical(folder: string, store: PassageStore): Promise<Opened> {
  const index = await Bm25Index.open(join(folder, indexFiles.bm25));
  return { search: bm25Search({ store, index }), close: () => index.close() };
}

async function openDense(folder: string, store: PassageStore, kind: VectorIndexKind): Promise<Opened> {
  const index = await VectorIndex.open(join(folder, indexFiles.vectors), { kind });
  const embedder = await HashedEmbedder.open(join(folder, indexFiles.embedder));
  const close = (): void => {
    index.close();
    embedder.close();
  };
  return { search: localSearch({ store, index, embedder }), close };
}

/**
 * Opens what {@link buildIndex} wrote: passages and indexes are mapped.
 *
 * @param folder - the index folder
 * @returns a {@link Search} with the manifest, the passages and `close()`
 * @throws ERR_IO when there is no index or a file cannot be read, ERR_FORMAT when a file is damaged
 * @example
 * const search = await openIndex("index");
 * const [hits] = await search(["who told the story of the prodigal son"], { topK: 3 });
 * search.close();
 */
export async function openIndex(folder: string): Promise<IndexSearch> {
  const manifest = await readManifest(folder);
  const store = await PassageStore.open(join(folder, indexFiles.passages));
  if (store.size !== manifest.count)
    throw new SeekError("ERR_FORMAT", `${folder}: expected ${manifest.count} passages, got ${store.size}`);
  const { kind } = manifest;
  const { search, close } = await (kind === "bm25"
    ? openLexical(folder, store)
    : openDense(folder, store, kind));
  const closeAll = (): void => {
    close();
    store.close();
  };
  return Object.assign(search, { manifest, store, close: closeAll });
}
