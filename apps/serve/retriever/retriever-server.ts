/** A search as a service, in the protocols of the published systems. */
import { checkOptions } from "../../../lib/base/check-options.ts";
import { defined } from "../../../lib/base/defined.ts";
import type { BatchEvent, BatchOptions } from "../../../lib/search/batching/batcher.ts";
import type { Call } from "../http/call.ts";
import { HttpServer } from "../http/http-server.ts";
import { type BatchKind, RetrieverMetrics } from "./metrics.ts";
import { defaultLimits, type RetrieverOptions, retrieverKinds } from "./options.ts";
import { failureOf, Retriever } from "./retriever.ts";
import { routesOf } from "./routes.ts";

function batchOptions(
  kind: BatchKind,
  { batch = {} }: RetrieverOptions,
  metrics: RetrieverMetrics,
): BatchOptions {
  const onEvent = (event: BatchEvent): void => {
    metrics.countBatchEvent(kind, event);
    batch.onEvent?.(event);
  };
  return { aloneAfterMs: 0, ...batch, onEvent };
}

async function openSearch(
  retriever: Retriever,
  options: RetrieverOptions,
  metrics: RetrieverMetrics,
): Promise<void> {
  try {
    retriever.open(await options.search, batchOptions("search", options, metrics));
  } catch (error) {
    if (retriever.gate.state === "loading") retriever.gate.state = "failed";
    throw error;
  }
}

/** A server that is listening. */
export interface RetrieverServer extends HttpServer {
  /** Settles when queries are answered; rejects as the promise of the search does. */
  readonly ready: Promise<void>;
}

/**
 * Serves a search on one port: `POST /retrieve` (RAG-R1, Search-R1), `POST /search`, `POST /batch_search` and
 * `GET /health` (ReSearch, FlashRAG), `POST /queries` (R1-Searcher), `POST /v1/embeddings` and `GET /v1/models`
 * (OpenAI), `GET /metrics` (Prometheus). The queries of all clients are searched in batches.
 *
 * @param options what to serve, where, within which limits
 * @returns the server, listening
 * @throws ERR_ARGUMENT for an empty key, or none where other machines can ask; ERR_IO when the port cannot be had;
 *   ERR_RANGE for a limit below 1
 * @example
 * const server = await serveRetriever({ search: await openIndex("index"), port: 0 });
 * const body = JSON.stringify({ queries: ["capital of France"], topk: 1, return_scores: true });
 * const answer = await fetch(`${server.url}/retrieve`, { method: "POST", body });
 * const { result } = await answer.json(); // [[{ document: { id, contents }, score }]]
 * await server.close();
 */
export async function serveRetriever(options: RetrieverOptions): Promise<RetrieverServer> {
  checkOptions("serveRetriever", options, retrieverKinds);
  const retriever = new Retriever({ ...defaultLimits, ...defined(options.limits ?? {}) });
  const metrics = new RetrieverMetrics(() => retriever.gate.numQueries);
  const batch = batchOptions("embed", options, metrics);
  const service = {
    routes: routesOf({ retriever, metrics, options, batch }),
    timeoutMs: retriever.limits.timeoutMs,
    defaultPort: 8000,
    failureOf,
    onAnswered: (call: Call) => metrics.countRequest(call),
    onStopping: () => {
      retriever.gate.state = "stopping";
    },
    release: () => metrics.close(),
  };
  const ready = openSearch(retriever, options, metrics);
  // Whoever does not wait for it learns it from /health.
  ready.catch(() => {});
  return Object.assign(await HttpServer.open(service, options), { ready });
}
