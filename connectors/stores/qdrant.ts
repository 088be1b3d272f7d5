/** Passages in Qdrant, found by vectors. */

import { createHash } from "node:crypto";
import type { z } from "zod";
import { checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { lazySchema, zod } from "../../lib/base/on-first-use.ts";
import type { Passage } from "../../lib/search/corpus/passage.ts";
import { indexedText } from "../../lib/search/corpus/passage.ts";
import type { Embedder } from "../../lib/search/embed/embedder.ts";
import type { Hit, Search } from "../../lib/search/search.ts";
import { Endpoint, httpUrl } from "../remote/endpoint.ts";
import { Fault } from "../remote/fault.ts";
import { type TransportOptions, transportKind } from "../remote/guard.ts";
import { documentSchema, remoteHit } from "../remote/remote-hit.ts";
import { type KeyOptions, keyKinds, optionalKey } from "../remote/secret.ts";
import { type ImportOptions, type ImportProgress, importKinds, inBatches } from "./import.ts";
import { metricKind, type VectorMetric } from "./passage-table.ts";

/** Which collection of which server. A key is sent as `api-key`. */
export interface QdrantOptions extends KeyOptions {
  /** `http://host:6333`. */
  readonly url: string;
  readonly collection: string;
  /** The one the collection was made with. @default "cos" */
  readonly metric?: VectorMetric;
  readonly transport?: TransportOptions;
}

const serverKinds: OptionKinds<QdrantOptions> = {
  url: "string",
  collection: "string",
  metric: metricKind,
  transport: transportKind,
  ...keyKinds,
};

/** How passages are found. */
export interface QdrantSearchOptions extends QdrantOptions {
  readonly embedder: Pick<Embedder, "embedQueries" | "dim">;
  /** Neighbours that the graph keeps in view. @default the server's */
  readonly efSearch?: number;
}

const searchKinds: OptionKinds<QdrantSearchOptions> = {
  ...serverKinds,
  embedder: "object",
  efSearch: "number",
};

const pointSchema = lazySchema((z) =>
  z.looseObject({
    id: z.union([z.string(), z.number()]),
    score: z.number(),
    payload: documentSchema(),
  }),
);
const answerSchema = lazySchema((z) =>
  z.looseObject({
    result: z.array(z.looseObject({ points: z.array(pointSchema()) })),
  }),
);

const distances = { cos: "Cosine", ip: "Dot", l2: "Euclid" } as const;

/**
 * Search in a collection of Qdrant: all queries in one request of its batch query API.
 *
 * @param options - server, collection, embedder
 * @returns a search scored by cosine, inner product or minus the distance; it rejects with ERR_REMOTE and ERR_ABORTED
 * @throws ERR_ARGUMENT, ERR_RANGE
 * @example
 * const search = qdrantSearch({ url: "http://127.0.0.1:6333", collection: "wiki", embedder });
 */
export function qdrantSearch(options: QdrantSearchOptions): Search {
  checkOptions("qdrantSearch", options, searchKinds, ["url", "collection", "embedder"]);
  const { collection, embedder, metric = "cos", efSearch } = options;
  const endpoint = openEndpoint(options);
  const url = endpoint.at("collections", collection, "points", "query", "batch");
  const params = efSearch === undefined ? {} : { params: { hnsw_ef: efSearch } };
  return async (queries, { topK, signal }) => {
    if (queries.length === 0) return [];
    const vectors = await embedder.embedQueries(queries, signal ? { signal } : {});
    const searches = queries.map((_, i) => {
      return { query: vectorOf(vectors, i, embedder.dim), limit: topK, with_payload: true, ...params };
    });
    const { result } = await endpoint.call({ url, body: { searches }, expect: answerSchema(), signal });
    if (result.length === queries.length) return result.map(({ points }) => points.map(hitOf));
    throw new Fault(`${endpoint.name}: expected ${queries.length} lists of points, got ${result.length}`);
  };

  function hitOf({ id, score, payload }: z.output<ReturnType<typeof pointSchema>>, rank: number): Hit {
    const own = typeof payload === "object" && payload.id !== undefined ? payload.id : id;
    return { ...remoteHit(payload, rank, metric === "l2" ? -score : score), id: String(own) };
  }
}

function openEndpoint({ url, transport, ...options }: QdrantOptions): Endpoint {
  const key = optionalKey(options);
  const parts = key === undefined ? {} : { headers: { "api-key": key }, secrets: [key] };
  return new Endpoint(httpUrl(url), parts, transport);
}

function vectorOf(vectors: Float32Array, row: number, dim: number): number[] {
  return [...vectors.subarray(row * dim, (row + 1) * dim)];
}

/** What is stored. */
export interface QdrantImportOptions extends QdrantOptions, ImportOptions {
  readonly embedder: Pick<Embedder, "embedPassages" | "dim">;
}

const importOptionKinds: OptionKinds<QdrantImportOptions> = {
  ...serverKinds,
  ...importKinds,
  embedder: "object",
};

const storedSchema = lazySchema((z) =>
  z.looseObject({ result: z.looseObject({ status: z.literal("completed") }) }),
);

/**
 * Brings passages into a collection, and makes it unless it is there. The points carry `id`, `title` and `text`; since
 * Qdrant's own ids are numbers or UUIDs, a point's is a UUID from a hash of the passage's, so a passage whose id is
 * there already is replaced.
 *
 * @param passages - each id once
 * @param options - server, collection, embedder
 * @returns how many passages were stored, and how fast
 * @throws ERR_REMOTE, ERR_FORMAT for ids that come twice, ERR_ABORTED
 * @example
 * const into = { url: qdrantUrl, collection: "people", embedder };
 * await importToQdrant(readDocuments("passages.jsonl"), into);
 */
export async function importToQdrant(
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  options: QdrantImportOptions,
): Promise<ImportProgress> {
  checkOptions("importToQdrant", options, importOptionKinds, ["url", "collection", "embedder"]);
  const { collection, embedder, signal } = options;
  const endpoint = openEndpoint(options);
  await createCollection(endpoint, options);
  const url = endpoint.at("collections", collection, "points");
  url.searchParams.set("wait", "true");
  return inBatches(passages, options, async (batch) => {
    const vectors = await embedder.embedPassages(batch.map(indexedText), signal ? { signal } : {});
    const points = batch.map(({ id, title, text }, row) => {
      return { id: pointId(id), vector: vectorOf(vectors, row, embedder.dim), payload: { id, title, text } };
    });
    await endpoint.call({ url, method: "PUT", body: { points }, expect: storedSchema(), signal });
  });
}

async function createCollection(endpoint: Endpoint, options: QdrantImportOptions): Promise<void> {
  const { collection, embedder, metric = "cos", signal } = options;
  const url = endpoint.at("collections", collection);
  const body = { vectors: { size: embedder.dim, distance: distances[metric] } };
  try {
    await endpoint.call({ url, method: "PUT", body, expect: zod().unknown(), signal });
  } catch (error) {
    const isThere = error instanceof Fault && error.status === 409;
    if (!isThere) throw error;
  }
}

/** 128 bits of SHA-256 in the form of a UUID (version 8: its bits are the maker's own). */
function pointId(id: string): string {
  const hex = createHash("sha256").update(id).digest("hex");
  const variant = "89ab"[Number.parseInt(hex.slice(16, 17), 16) % 4];
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
  ];
  return [...parts, hex.slice(20, 32)].join("-");
}
