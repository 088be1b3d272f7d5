/** Passages in Elasticsearch or OpenSearch, found by their words (as ArtSearch asks) or by vectors. */

import type { z } from "zod";
import { checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";
import { mapConcurrently } from "../../lib/base/map-concurrently.ts";
import { lazySchema } from "../../lib/base/on-first-use.ts";
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

/** Which index of which server. A key is sent as `Authorization: ApiKey`; user and password may stand in `url`. */
export interface ElasticsearchOptions extends KeyOptions {
  /** `https://user:password@host:9200`. */
  readonly url: string;
  readonly index: string;
  /** How vectors are asked for and stored differs. @default "elasticsearch" */
  readonly engine?: "elasticsearch" | "opensearch";
  /** The field of the vectors. @default "embedding" */
  readonly vectorField?: string;
  readonly transport?: TransportOptions;
}

const serverKinds: OptionKinds<ElasticsearchOptions> = {
  url: "string",
  index: "string",
  engine: ["elasticsearch", "opensearch"],
  vectorField: "string",
  transport: transportKind,
  ...keyKinds,
};

/** How passages are found. */
export interface ElasticsearchSearchOptions extends ElasticsearchOptions {
  /** Where words are looked for; `title^2` counts twice. @default ["title", "text"] */
  readonly fields?: readonly string[];
  /** Searches by vectors; without one the search is by words. */
  readonly embedder?: Pick<Embedder, "embedQueries" | "dim">;
  /** Neighbours that each shard considers, never fewer than `topK`. @default 100 */
  readonly numCandidates?: number;
}

const searchKinds: OptionKinds<ElasticsearchSearchOptions> = {
  ...serverKinds,
  fields: "list",
  embedder: "object",
  numCandidates: "number",
};

const hitSchema = lazySchema((z) =>
  z.looseObject({ _id: z.string(), _score: z.number().nullable(), _source: documentSchema() }),
);
const answerSchema = lazySchema((z) =>
  z.looseObject({
    timed_out: z.boolean().optional(),
    _shards: z.looseObject({ failed: z.number() }).optional(),
    hits: z.looseObject({ hits: z.array(hitSchema()) }),
  }),
);

/**
 * Search in an index of Elasticsearch or OpenSearch: one `_search` for each query, `multi_match` over the fields, or
 * the nearest vectors when there is an embedder. Partial answers (shards that failed or ran out of time) are failures.
 *
 * @param options - server, index, fields or embedder
 * @returns a search whose scores are the server's; it rejects with ERR_REMOTE and ERR_ABORTED
 * @throws ERR_ARGUMENT, ERR_RANGE
 * @example
 * const search = elasticsearchSearch({ url: "http://127.0.0.1:9200", index: "wiki_en" });
 */
export function elasticsearchSearch(options: ElasticsearchSearchOptions): Search {
  checkOptions("elasticsearchSearch", options, searchKinds, ["url", "index"]);
  const endpoint = openEndpoint(options);
  const url = endpoint.at(options.index, "_search");
  return async (queries, { topK, signal }) => {
    const bodies = await bodiesOf(queries, topK, options, signal);
    return mapConcurrently(bodies, bodies.length, async (body) => {
      const { hits } = await endpoint.call({ url, body, expect: answerSchema(), judge, signal });
      return hits.hits.map(hitOf).slice(0, topK);
    });
  };

  function judge({ timed_out: isLate, _shards: shards }: z.output<ReturnType<typeof answerSchema>>): void {
    if (isLate !== true && !shards?.failed) return;
    const what = isLate === true ? "a time-out" : `${shards?.failed} failed`;
    throw new Fault(`${endpoint.name}: expected the answers of all shards, got ${what}`, { mayRetry: true });
  }
}

function openEndpoint({ url, transport, ...options }: ElasticsearchOptions): Endpoint {
  const key = optionalKey(options);
  const parts = key === undefined ? {} : { headers: { authorization: `ApiKey ${key}` }, secrets: [key] };
  return new Endpoint(httpUrl(url), parts, transport);
}

function hitOf({ _id, _score, _source }: z.output<ReturnType<typeof hitSchema>>, rank: number): Hit {
  return { ...remoteHit(_source, rank, _score ?? undefined), id: _id };
}

async function bodiesOf(
  queries: readonly string[],
  topK: number,
  options: ElasticsearchSearchOptions,
  signal: AbortSignal | undefined,
): Promise<object[]> {
  const { fields = ["title", "text"], embedder, vectorField = "embedding", numCandidates = 100 } = options;
  const common = { size: topK, _source: { excludes: [vectorField] } };
  if (embedder === undefined) {
    return queries.map((query) => ({ ...common, query: { multi_match: { query, fields } } }));
  }
  const vectors = await embedder.embedQueries(queries, signal ? { signal } : {});
  const candidates = Math.min(10_000, Math.max(numCandidates, topK));
  return queries.map((_, i) => {
    const vector = [...vectors.subarray(i * embedder.dim, (i + 1) * embedder.dim)];
    if (options.engine === "opensearch")
      return { ...common, query: { knn: { [vectorField]: { vector, k: topK } } } };
    return {
      ...common,
      knn: { field: vectorField, query_vector: vector, k: topK, num_candidates: candidates },
    };
  });
}

/** What is stored with the passages. */
export interface ElasticsearchImportOptions extends ElasticsearchOptions, ImportOptions {
  /** Adds a vector to each passage. @default words only */
  readonly embedder?: Pick<Embedder, "embedPassages" | "dim">;
}

const importOptionKinds: OptionKinds<ElasticsearchImportOptions> = {
  ...serverKinds,
  ...importKinds,
  embedder: "object",
};

const bulkSchema = lazySchema((z) =>
  z.looseObject({
    errors: z.boolean(),
    items: z.array(
      z.record(
        z.string(),
        z.looseObject({
          _id: z.string().optional(),
          status: z.number(),
          error: z.looseObject({ type: z.string(), reason: z.string().optional() }).optional(),
        }),
      ),
    ),
  }),
);

const anything = lazySchema((z) => z.unknown());

/** Of OpenSearch's engines the one that has known the cosine in every version since 2.2. */
const openSearchGraph = { name: "hnsw", engine: "lucene", space_type: "cosinesimil" };

/**
 * Brings passages into an index by `_bulk`, and makes the index unless it is there. A passage whose id is there
 * already is replaced.
 *
 * @param passages - each id once
 * @param options - server, index, embedder
 * @returns how many passages were stored, and how fast
 * @throws ERR_REMOTE naming the passage that was refused and why, ERR_FORMAT, ERR_ABORTED
 * @example
 * const into = { url: elasticsearchUrl, index: "people" };
 * await importToElasticsearch(readDocuments("passages.jsonl"), into);
 */
export async function importToElasticsearch(
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  options: ElasticsearchImportOptions,
): Promise<ImportProgress> {
  checkOptions("importToElasticsearch", options, importOptionKinds, ["url", "index"]);
  const { index, signal } = options;
  const endpoint = openEndpoint(options);
  await createIndex(endpoint, options);
  const judge = (answer: z.output<ReturnType<typeof bulkSchema>>): void => judgeBulk(endpoint, answer);
  const done = await inBatches(passages, options, async (batch) => {
    const body = await bulkBody(batch, options);
    const contentType = "application/x-ndjson";
    const url = endpoint.at(index, "_bulk");
    await endpoint.call({ url, body, contentType, expect: bulkSchema(), judge, signal });
  });
  await endpoint.call({ url: endpoint.at(index, "_refresh"), expect: anything(), signal });
  return done;
}

function judgeBulk(endpoint: Endpoint, { errors, items }: z.output<ReturnType<typeof bulkSchema>>): void {
  if (!errors) return;
  const refused = items.flatMap((item) => Object.values(item)).filter(({ error }) => error !== undefined);
  // A node whose queue is full takes the same batch a little later; what is stored twice is replaced by the same.
  const isBusy = refused.every(({ status }) => status === 429 || status >= 500);
  const first = refused.find(({ status }) => isBusy || status !== 429);
  const why = `${first?.error?.type}: ${first?.error?.reason ?? "no reason"}`;
  const message = `passage ${JSON.stringify(first?._id)} was refused: ${why}`;
  throw new Fault(`${endpoint.name}: ${message}`, { mayRetry: isBusy, isRefusal: !isBusy });
}

async function createIndex(endpoint: Endpoint, options: ElasticsearchImportOptions): Promise<void> {
  const { index, embedder, engine = "elasticsearch", vectorField = "embedding", signal } = options;
  const vector =
    engine === "opensearch"
      ? { type: "knn_vector", dimension: embedder?.dim, method: openSearchGraph }
      : { type: "dense_vector", dims: embedder?.dim, index: true, similarity: "cosine" };
  const words = { title: { type: "text" }, text: { type: "text" } };
  const properties = embedder === undefined ? words : { ...words, [vectorField]: vector };
  const settings = engine === "opensearch" && embedder ? { settings: { index: { knn: true } } } : {};
  const body = { ...settings, mappings: { properties } };
  try {
    await endpoint.call({ url: endpoint.at(index), method: "PUT", body, expect: anything(), signal });
  } catch (error) {
    const isThere = error instanceof SeekError && error.message.includes("resource_already_exists_exception");
    if (!isThere) throw error;
  }
}

async function bulkBody(
  batch: readonly Passage[],
  { embedder, vectorField = "embedding", signal }: ElasticsearchImportOptions,
): Promise<string> {
  const vectors = await embedder?.embedPassages(batch.map(indexedText), signal ? { signal } : {});
  const lines = batch.flatMap(({ id, title, text }, row) => {
    const dim = embedder?.dim ?? 0;
    const vector =
      vectors === undefined ? {} : { [vectorField]: [...vectors.subarray(row * dim, (row + 1) * dim)] };
    return [{ index: { _id: id } }, { title, text, ...vector }];
  });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
