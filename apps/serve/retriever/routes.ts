/** The routes of a retriever server. */
import type { BatchOptions } from "../../../lib/search/batching/batcher.ts";
import type { Route } from "../http/http-server.ts";
import type { Dialect } from "../http/refusal.ts";
import type { RetrieverMetrics } from "./metrics.ts";
import type { RetrieverOptions } from "./options.ts";
import { batchSearchRoute, healthRoute, searchRoute } from "./protocols/flashrag.ts";
import { embeddingsRoute, modelsRoute } from "./protocols/openai.ts";
import { queriesRoute } from "./protocols/r1-searcher.ts";
import { retrieveRoute } from "./protocols/search-r1.ts";
import { findRoute, passagesRoute, prepareRoute, shardRoute } from "./protocols/shard.ts";
import type { Retriever } from "./retriever.ts";

/** What the routes are made of. */
interface RouteParts {
  readonly retriever: Retriever;
  readonly metrics: RetrieverMetrics;
  readonly options: RetrieverOptions;
  /** How texts to embed are gathered. */
  readonly batch: BatchOptions;
}

/** Each protocol's routes, embeddings only where an embedder is served. */
export function routesOf({ retriever, metrics, options, batch }: RouteParts): Route[] {
  const { embedding } = options;
  const get = (path: string, dialect: Dialect, handle: Route["handle"]): Route => {
    return { method: "GET", path, dialect, handle };
  };
  const post = (path: string, dialect: Dialect, handle: Route["handle"]): Route => {
    return { method: "POST", path, dialect, handle };
  };
  const routes = [
    post("/retrieve", "detail", retrieveRoute(retriever, options)),
    post("/search", "detail", searchRoute(retriever, options)),
    post("/batch_search", "detail", batchSearchRoute(retriever, options)),
    get("/health", "detail", healthRoute(retriever.gate)),
    post("/queries", "error", queriesRoute(retriever, options)),
    get("/shard", "error", shardRoute(retriever)),
    post("/shard/prepare", "error", prepareRoute(retriever)),
    post("/shard/find", "error", findRoute(retriever)),
    post("/shard/passages", "error", passagesRoute(retriever)),
    get("/v1/models", "error", modelsRoute(embedding)),
    get("/metrics", "error", (call) => metrics.answer(call)),
  ];
  if (embedding) routes.push(post("/v1/embeddings", "error", embeddingsRoute(retriever, embedding, batch)));
  return routes;
}
