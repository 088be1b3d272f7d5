/** Nearest vectors, exactly or over a graph; searched and built on native threads. */
import type { Handle, NativeHits } from "../base/addon/handle.ts";
import { native } from "../base/addon/native.ts";
import { SeekError, throwIfAborted } from "../base/errors.ts";

/**
 * `exact` compares with every vector; `hnsw` walks a graph: faster beyond some ten thousand, with recall near 1.
 * A graph that is built anew on several threads may differ a little; a saved one always answers the same.
 */
export type VectorIndexKind = "exact" | "hnsw";

/** How the components of a vector are stored: in 4, 2 or 1 bytes, or in one bit. */
export type VectorDtype = "f32" | "bf16" | "i8" | "b1";

/** What vectors are and how they are compared. */
export interface VectorFormat {
  /** Width of a vector, 1 to 65536. */
  readonly dim: number;
  /** `cos`: the cosine; `ip`: the inner product. @default "cos" */
  readonly metric?: "cos" | "ip";
  /** `i8` and `b1` go with `cos`. @default "bf16" */
  readonly dtype?: VectorDtype;
}

/** How vectors are stored and compared. */
export interface VectorIndexOptions extends VectorFormat {
  /** The most vectors there will be; their memory is taken as they come. */
  readonly capacity: number;
  /** The graph's shape; `exact` has none. */
  readonly graph?: GraphOptions;
  /** See {@link OpenVectorIndexOptions}. */
  readonly rescore?: VectorIndex | undefined;
  /** See {@link OpenVectorIndexOptions}. @default "cpu" */
  readonly device?: string | undefined;
}

/** The graph's shape: more of each costs time and raises recall. */
export interface GraphOptions {
  /** Neighbours of a vector, twice as many on the ground level, 4 bytes each; 2 to 512. @default 32 */
  readonly connectivity?: number;
  /** Candidates kept while building. @default 128 */
  readonly expansionAdd?: number;
  /** Candidates kept while searching. @default 128 */
  readonly expansionSearch?: number;
}

/** What {@link GraphOptions} are unless given. */
export const graphDefaults = { connectivity: 32, expansionAdd: 128, expansionSearch: 128 } as const;

/** How a saved index is opened. */
export interface OpenVectorIndexOptions {
  readonly kind: VectorIndexKind;
  /**
   * Reads and checks every byte. `false` opens a file that is known to be good in milliseconds: its header and sizes
   * are checked, pages are read when searched. @default true
   */
  readonly verify?: boolean;
  /** Reads the index into memory with room for so many vectors; unless given it is mapped and read-only. */
  readonly capacity?: number;
  /**
   * The same vectors in a finer form, an exact index of `f32` or `bf16`: a search takes more candidates than it was
   * asked for and keeps those that are best by these. It stays the caller's to close.
   */
  readonly rescore?: VectorIndex | undefined;
  /**
   * `cpu` or `cuda`: where an exact index of `bf16`, `i8` or `b1` is searched. A GPU keeps a copy of its vectors, `2 D`,
   * `D + 4` or `D / 8 + 4` bytes each with `D` filled up to a multiple of 16 (`b1`: 128), and of those of `rescore`.
   * @default "cpu"
   */
  readonly device?: string | undefined;
}

/** Options of a search over vectors. */
export interface VectorSearchOptions {
  /** How many vectors to find for each query, at most `size`; on a GPU `topK` times `overFetch` is at most 1,000. */
  readonly topK: number;
  /** Candidates that a graph keeps, at least `topK`; the index's own number unless given. */
  readonly expansion?: number;
  /**
   * Candidates for each result, scored again by `rescore`. @default 4, for `b1` 20, on a GPU no more than fit into its
   * 1,000; without `rescore` 1
   */
  readonly overFetch?: number | undefined;
  /** Compares with every vector, even where there is a graph. @default false */
  readonly exact?: boolean;
  /** Only these are found: a bit for each vector, the first in the lowest bit of the first byte. */
  readonly allowed?: Uint8Array;
}

/** A GPU keeps at most so many candidates of a query. */
export const maxGpuCandidates = 1000;

/** Vectors that another index gives at a time: progress and cancellation come between. */
const rowsAtOnce = 2048;

function checkSizes(sizes: object): void {
  for (const [name, value] of Object.entries(sizes)) {
    if (Number.isInteger(value) && value >= 0) continue;
    throw new SeekError("ERR_RANGE", `${name}: expected a whole number of at least 0, got ${value}`);
  }
}

/** An index over vectors, numbered from 0 in the order in which they were added. */
export class VectorIndex {
  readonly dim: number;
  readonly #dtype: VectorDtype;
  readonly #handle: Handle<"vectorIndex">;
  /** The finer form of its vectors that it was given. */
  readonly rescore: VectorIndex | undefined;
  readonly #gpu: Handle<"vectorGpu"> | undefined;
  #numAdded: number;
  #isAdding = false;

  private constructor(index: Handle<"vectorIndex">, rescore: VectorIndex | undefined, device: string) {
    const { count, dim, dtype } = native().vectorIndexInfo(index);
    this.#handle = index;
    this.#gpu =
      device === "cpu"
        ? undefined
        : native().vectorGpuCreate(index, rescore === undefined ? undefined : rescore.#handle, device);
    this.rescore = rescore;
    this.#numAdded = count;
    this.dim = dim;
    this.#dtype = dtype;
  }

  /**
   * An empty index in memory.
   *
   * @param kind every vector compared, or a graph walked
   * @param options width, capacity, metric, stored form, device
   * @returns the index, to be closed
   * @throws ERR_RANGE, ERR_ARGUMENT for options that cannot be; ERR_MEMORY; ERR_DEVICE
   * @example
   * const index = VectorIndex.create("exact", { dim: 2, capacity: 2 });
   * await index.add(new Float32Array([1, 0, 0, 1]));
   * const { ids } = await index.search(new Float32Array([0.9, 0.1]), { topK: 1 }); // ids[0] is 0
   */
  static create(kind: VectorIndexKind, options: VectorIndexOptions): VectorIndex {
    const { dim, capacity, metric = "cos", dtype = "bf16", rescore, device = "cpu" } = options;
    const sizes = { dim, capacity, ...graphDefaults, ...options.graph };
    checkSizes(sizes);
    return new VectorIndex(native().vectorIndexCreate({ kind, metric, dtype, ...sizes }), rescore, device);
  }

  /**
   * Maps a saved index, or reads it into memory so that vectors can be added.
   *
   * @param path what `save` or a {@link VectorRowsWriter} wrote
   * @param options `kind` it must have; `verify`, `capacity`, `rescore`, `device`
   * @returns the index, to be closed
   * @throws ERR_IO when the file cannot be read; ERR_FORMAT when it is damaged or of another kind; ERR_RANGE for a
   * capacity below its size; ERR_ARGUMENT, ERR_DEVICE for a device that cannot search it; ERR_MEMORY
   */
  static async open(path: string, options: OpenVectorIndexOptions): Promise<VectorIndex> {
    const { kind, verify = true, capacity, rescore, device = "cpu" } = options;
    if (capacity !== undefined) checkSizes({ capacity });
    const handle = await native().vectorIndexOpen(path, kind, verify, capacity);
    try {
      const index = new VectorIndex(handle, rescore, device);
      if (index.#gpu !== undefined) await native().vectorGpuUpload(index.#gpu, index.#numAdded);
      return index;
    } catch (error) {
      native().vectorIndexClose(handle);
      throw error;
    }
  }

  /** How many vectors it holds, removed ones included. @throws ERR_STATE after close */
  get size(): number {
    return native().vectorIndexInfo(this.#handle).count;
  }

  /** How many of them were removed. @throws ERR_STATE after close */
  get numRemoved(): number {
    return native().vectorIndexInfo(this.#handle).numRemoved;
  }

  /**
   * Adds vectors after those already there, on all cores.
   *
   * @param vectors f32 [N, dim], row-major; copied before this returns
   * @throws ERR_SHAPE, ERR_RANGE (more than `capacity`, or values that are not finite), ERR_STATE (mapped from a file,
   * closed, or called before the last `add` has settled)
   */
  async add(vectors: Float32Array): Promise<void> {
    await this.#whileAdding(async () => {
      await native().vectorIndexAdd(this.#handle, this.#numAdded, vectors);
      this.#numAdded += vectors.length / this.dim;
    });
  }

  /**
   * Adds the vectors of another index that are not removed, in their order: merges indexes, builds a graph over stored
   * rows, drops removed vectors for good. Vectors of the same dtype and metric are copied bit for bit.
   *
   * @param source of the same width
   * @param options `begin` and `end`: which of the source's vectors, up to, not including, `end`; all unless given.
   *   `onProgress` gets how many of them have been looked at; `signal`
   * @throws as `add`; ERR_ABORTED, after which the vectors added so far are there
   */
  async addFrom(
    source: VectorIndex,
    options: {
      readonly begin?: number;
      readonly end?: number;
      readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<void> {
    const { begin: first = 0, end: last = source.size, onProgress, signal } = options;
    await this.#whileAdding(async () => {
      for (let begin = first; begin < last; begin += rowsAtOnce) {
        throwIfAborted(signal, "vectors");
        const end = Math.min(begin + rowsAtOnce, last);
        this.#numAdded += await native().vectorIndexAddRows(
          this.#handle,
          this.#numAdded,
          source.#handle,
          begin,
          end,
        );
        onProgress?.({ done: end - first, total: last - first });
      }
    });
  }

  async #whileAdding(work: () => Promise<void>): Promise<void> {
    if (this.#isAdding) throw new SeekError("ERR_STATE", "vectors: the last add has not settled yet");
    this.#isAdding = true;
    try {
      await work();
    } finally {
      this.#isAdding = false;
    }
  }

  /**
   * No search finds these vectors again, and none of them takes the place of another. Their numbers stay; `save`
   * writes which are removed.
   *
   * @param ids their numbers
   * @throws ERR_RANGE, ERR_STATE after close
   */
  remove(ids: Iterable<number>): void {
    native().vectorIndexRemove(this.#handle, Int32Array.from(ids));
  }

  /**
   * Stored vectors, as exact as they are stored; `cos` has brought them to length one.
   *
   * @param first number of the first
   * @param count how many
   * @returns f32 [count, dim], row-major
   * @throws ERR_RANGE, ERR_STATE after close
   */
  async read(first: number, count: number): Promise<Float32Array> {
    return native().vectorIndexRead(this.#handle, first, count);
  }

  /**
   * The nearest vectors of each query: queries, and rows where every one is compared, are spread over all cores; on a GPU
   * up to 512 queries share a pass over all rows.
   *
   * @param queries f32 [Q, dim], row-major; copied before this returns
   * @param options `topK`, and how hard to look
   * @returns ids (-1 where there are fewer) and scores, each [Q, topK], best first, equal scores by id
   * @throws ERR_SHAPE, ERR_RANGE, ERR_STATE after close
   */
  async search(queries: Float32Array, options: VectorSearchOptions): Promise<NativeHits> {
    const rescore = this.rescore === undefined ? undefined : this.rescore.#handle;
    const { topK, expansion = 0, overFetch = this.#overFetchOf(topK), exact = false, allowed } = options;
    checkSizes({ topK, expansion, overFetch });
    if (this.#gpu !== undefined) {
      const asked = { topK, overFetch, numRows: this.#numAdded };
      return native().vectorGpuSearch(this.#gpu, queries, asked, allowed, rescore);
    }
    const asked = { topK, expansion, overFetch, exact };
    return native().vectorIndexSearch(this.#handle, queries, asked, allowed, rescore);
  }

  // One bit a component orders near vectors far worse than eight do.
  #overFetchOf(topK: number): number {
    if (this.rescore === undefined) return 1;
    const usual = this.#dtype === "b1" ? 20 : 4;
    return this.#gpu === undefined
      ? usual
      : Math.min(usual, Math.max(1, Math.floor(maxGpuCandidates / topK)));
  }

  /** Writes the index, whole or not at all. @throws ERR_IO */
  async save(path: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    throwIfAborted(signal, path);
    await native().vectorIndexSave(this.#handle, path);
  }

  /** Frees the memory once running searches have ended; later calls reject with ERR_STATE. */
  close(): void {
    native().vectorIndexClose(this.#handle);
    if (this.#gpu !== undefined) native().vectorGpuClose(this.#gpu);
  }
}
