/** The indexes that bench/search/peers.ts compares, each built once and asked in the same way. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { Index } from "usearch";
import { VectorIndex } from "../../lib/search/vector-index.ts";

/** What is searched: files and arrays of raw f32. */
export interface Data {
  readonly folder: string;
  readonly dim: number;
  readonly count: number;
  readonly vectors: Float32Array;
  readonly queries: Float32Array;
  readonly rows: VectorIndex;
}

/** Wall and processor seconds. */
export interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** How queries are asked. */
export interface Asked {
  readonly numQueries: number;
  /** Queries in one call. */
  readonly batch: number;
  readonly expansion: number;
}

/** An index under test. */
export interface Contender {
  readonly name: string;
  /** Whether `expansion` trades time for recall. */
  readonly isGraph: boolean;
  /** What building cost, if it was built now. */
  readonly built: Cost | undefined;
  readonly bytesPerVector: number;
  search(asked: Asked): Promise<Cost & { readonly ids: Int32Array }>;
}

export const graph = { connectivity: 32, expansionAdd: 128 } as const;
export const topK = 10;

export async function timed(work: () => unknown): Promise<Cost> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { seconds: (performance.now() - started) / 1000, cpuSeconds: (user + system) / 1e6 };
}

async function inBatches(
  { queries, dim }: Data,
  { numQueries, batch }: Asked,
  find: (part: Float32Array) => Promise<ArrayLike<number>> | ArrayLike<number>,
): Promise<Cost & { readonly ids: Int32Array }> {
  const ids = new Int32Array(numQueries * topK);
  const cost = await timed(async () => {
    for (let at = 0; at < numQueries; at += batch) {
      const part = queries.subarray(at * dim, Math.min(at + batch, numQueries) * dim);
      ids.set(await find(part), at * topK);
    }
  });
  return { ...cost, ids };
}

/** Ours; `over` makes more candidates than asked for, scored again by `finer`. */
export async function seekrl(
  data: Data,
  kind: "exact" | "hnsw",
  dtype: "f32" | "bf16" | "i8" | "b1",
  again?: { readonly finer: VectorIndex; readonly overFetch: number },
): Promise<Contender> {
  const { dim, count: capacity, folder, rows } = data;
  const path = `${folder}/${kind}-${dtype}`;
  let built: Cost | undefined;
  if (!existsSync(path)) {
    const index = VectorIndex.create(kind, { dim, capacity, dtype, graph });
    built = await timed(() => index.addFrom(rows));
    await index.save(path);
    index.close();
  }
  const index = await VectorIndex.open(path, { kind, capacity, rescore: again?.finer });
  const search = (asked: Asked) => {
    const expansion = kind === "hnsw" ? asked.expansion : undefined;
    const options = { topK, overFetch: again?.overFetch, expansion };
    return inBatches(data, asked, async (part) => (await index.search(part, options)).ids);
  };
  const name = `SeekRL ${kind} ${dtype}${again ? `, ${again.overFetch}x scored again` : ""}`;
  return { name, isGraph: kind === "hnsw", built, bytesPerVector: statSync(path).size / capacity, search };
}

function unit(vectors: Float32Array, dim: number): Float32Array {
  const unit = Float32Array.from(vectors);
  for (let at = 0; at < unit.length; at += dim) {
    const row = unit.subarray(at, at + dim);
    const length = Math.hypot(...row);
    for (const [i, value] of row.entries()) row[i] = value / length;
  }
  return unit;
}

/** The npm package `usearch`, whose `expansion` is fixed when an index is opened. */
export async function usearch(data: Data, quantization: "f32" | "bf16" | "i8"): Promise<Contender> {
  const { dim, count, folder } = data;
  const path = `${folder}/usearch-${quantization}`;
  const options = (expansion: number) => ({
    metric: "cos",
    dimensions: dim,
    quantization,
    connectivity: graph.connectivity,
    expansion_add: graph.expansionAdd,
    expansion_search: expansion,
    multi: false,
  });
  const make = (expansion: number): Index => new Index(options(expansion) as never);
  let built: Cost | undefined;
  if (!existsSync(path)) {
    const index = make(128);
    const vectors = unit(data.vectors, dim);
    const keys = BigUint64Array.from({ length: count }, (_, i) => BigInt(i));
    built = await timed(() => index.add(keys, vectors, 0));
    index.save(path);
  }
  const opened = new Map<number, Index>();
  const search = (asked: Asked) => {
    const index = opened.get(asked.expansion) ?? make(asked.expansion);
    if (!opened.has(asked.expansion)) {
      index.load(path);
      opened.clear();
      opened.set(asked.expansion, index);
    }
    return inBatches(data, asked, (part) => Array.from(index.search(part, topK, 0).keys, Number));
  };
  return {
    name: `usearch hnsw ${quantization}`,
    isGraph: true,
    built,
    bytesPerVector: statSync(path).size / count,
    search,
  };
}

/** A Python process with faiss, or why there is none. */
export class Faiss {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  private constructor(script: string) {
    const python = process.env.SEEKRL_PYTHON ?? "python3";
    this.#process = spawn(python, [script], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
  }

  static async start(script: string): Promise<{ faiss: Faiss; version: string }> {
    const faiss = new Faiss(script);
    const { version } = (await faiss.#answer()) as { version: string };
    return { faiss, version };
  }

  async #answer(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    if (done === true)
      throw new Error("faiss: set SEEKRL_PYTHON to a Python with `pip install faiss-cpu numpy`");
    return JSON.parse(value);
  }

  async ask(command: object): Promise<Cost> {
    this.#process.stdin.write(`${JSON.stringify(command)}\n`);
    return (await this.#answer()) as Cost;
  }

  async contender(data: Data, build: "flat" | "hnsw"): Promise<Contender> {
    const [vectors, queries] = [`${data.folder}/vectors.f32`, `${data.folder}/queries.f32`];
    const isNew = !existsSync(`${vectors}.faiss-${build}`);
    const cost = await this.ask({ build, vectors, dim: data.dim, threads: availableParallelism(), ...graph });
    const search = async ({ numQueries, batch, expansion }: Asked) => {
      const took = await this.ask({ search: build, queries, batch, ef: expansion, topK, count: numQueries });
      const bytes = readFileSync(`${queries}.ids`);
      return { ...took, ids: new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4) };
    };
    const rowBytes = data.dim * 4 + (build === "hnsw" ? graph.connectivity * 2 * 4 + 16 : 0);
    return {
      name: `faiss ${build} f32`,
      isGraph: build === "hnsw",
      built: isNew ? cost : undefined,
      bytesPerVector: rowBytes,
      search,
    };
  }

  close(): void {
    this.#process.stdin.end();
  }
}
