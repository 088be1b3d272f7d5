/** Nearest vectors, exactly or over a graph; searched and built on native threads. */
import type { Handle, NativeHits } from "../base/addon.ts";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import { native } from "../base/native.ts";

/**
 * `exact` compares with every vector; `hnsw` walks a graph: faster beyond some hundred thousand, with recall near 1.
 * A graph that is built anew on several threads may differ a little; a saved one always answers the same.
 */
export type VectorIndexKind = "exact" | "hnsw";

/** How vectors are stored and compared. */
export interface VectorIndexOptions {
  /** Width of a vector, 1 to 65536. */
  readonly dim: number;
  /** The most vectors there will be; their memory is reserved at once. */
  readonly capacity: number;
  /** `cos`: the cosine; `ip`: the inner product. @default "cos" */
  readonly metric?: "cos" | "ip";
  /** Bytes per component: 4, 2 or 1; `i8` goes with `cos`. @default "bf16" */
  readonly dtype?: "f32" | "bf16" | "i8";
  /** The graph's shape; `exact` has none. */
  readonly graph?: GraphOptions;
}

/** The graph's shape: more of each costs time and raises recall. */
export interface GraphOptions {
  /** Neighbours of a vector, twice as many on the ground level, 4 bytes each. @default 32 */
  readonly connectivity?: number;
  /** Candidates kept while building. @default 128 */
  readonly expansionAdd?: number;
  /** Candidates kept while searching. @default 128 */
  readonly expansionSearch?: number;
}

/** What {@link GraphOptions} are unless given. */
export const graphDefaults = { connectivity: 32, expansionAdd: 128, expansionSearch: 128 } as const;

/** An index over vectors, numbered from 0 in the order in which they were added. */
export class VectorIndex {
  readonly dim: number;
  #handle: Handle<"vectorIndex">;
  #numAdded: number;
  #isAdding = false;

  private constructor(index: Handle<"vectorIndex">) {
    const { count, dim } = native.vectorIndexInfo(index);
    this.#handle = index;
    this.#numAdded = count;
    this.dim = dim;
  }

  /**
   * An empty index in memory.
   *
   * @param kind every vector compared, or a graph walked
   * @param options width, capacity, metric, stored form
   * @returns the index, to be closed
   * @throws ERR_RANGE, ERR_ARGUMENT for options that cannot be; ERR_MEMORY
   * @example
   * const index = VectorIndex.create("exact", { dim: 2, capacity: 2 });
   * await index.add(new Float32Array([1, 0, 0, 1]));
   * const { ids } = await index.search(new Float32Array([0.9, 0.1]), { topK: 1 }); // ids[0] is 0
   */
  static create(kind: VectorIndexKind, options: VectorIndexOptions): VectorIndex {
    const { dim, capacity, metric = "cos", dtype = "bf16" } = options;
    const sizes = { dim, capacity, ...graphDefaults, ...options.graph };
    for (const [name, value] of Object.entries(sizes)) {
      if (Number.isInteger(value) && value >= 0) continue;
      throw new SeekError("ERR_RANGE", `${name}: expected a whole number of at least 0, got ${value}`);
    }
    return new VectorIndex(native.vectorIndexCreate({ kind, metric, dtype, ...sizes }));
  }

  /**
   * Maps a saved index; nothing can be added to it.
   *
   * @param path what `save` wrote
   * @param options `kind` it must have; `verify`: reads and checks every byte, `@default true`. `false` opens a file
   * that is known to be good in milliseconds: its header and sizes are checked, pages are read when searched
   * @returns the index, to be closed
   * @throws ERR_IO when the file cannot be read; ERR_FORMAT when it is damaged or of another kind
   */
  static async open(
    path: string,
    { kind, verify = true }: { readonly kind: VectorIndexKind; readonly verify?: boolean },
  ): Promise<VectorIndex> {
    return new VectorIndex(await native.vectorIndexOpen(path, kind, verify));
  }

  /** How many vectors it holds. @throws ERR_STATE after close */
  get size(): number {
    return native.vectorIndexInfo(this.#handle).count;
  }

  /**
   * Adds vectors after those already there, on all cores.
   *
   * @param vectors f32 [N, dim], row-major; copied before this returns
   * @throws ERR_SHAPE, ERR_RANGE (more than `capacity`, or values that are not finite), ERR_STATE (opened from a file,
   * closed, or called before the last `add` has settled)
   */
  async add(vectors: Float32Array): Promise<void> {
    if (this.#isAdding) throw new SeekError("ERR_STATE", "vectors: the last add has not settled yet");
    this.#isAdding = true;
    try {
      await native.vectorIndexAdd(this.#handle, this.#numAdded, vectors);
      this.#numAdded += vectors.length / this.dim;
    } finally {
      this.#isAdding = false;
    }
  }

  /**
   * The nearest vectors of each query; queries are spread over all cores.
   *
   * @param queries f32 [Q, dim], row-major; copied before this returns
   * @param options `topK` at most `size`
   * @returns ids (-1 where there are fewer) and scores, each [Q, topK], best first
   * @throws ERR_SHAPE, ERR_RANGE, ERR_STATE after close
   */
  async search(queries: Float32Array, { topK }: { readonly topK: number }): Promise<NativeHits> {
    return native.vectorIndexSearch(this.#handle, queries, topK);
  }

  /** Writes the index, whole or not at all. @throws ERR_IO */
  async save(path: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    throwIfAborted(signal, path);
    await native.vectorIndexSave(this.#handle, path);
  }

  /** Frees the memory once running searches have ended; later calls reject with ERR_STATE. */
  close(): void {
    native.vectorIndexClose(this.#handle);
  }
}
