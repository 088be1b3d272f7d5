/** What a retriever server measures of itself. */
import type { Counter, Histogram } from "prom-client";
import type { BatchEvent } from "../../../lib/search/batching/batcher.ts";
import { prometheus, ServerMetrics, secondsBuckets } from "../http/server-metrics.ts";

const sizeBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** What was gathered into batches: queries to search for, or texts to embed. */
export type BatchKind = "search" | "embed";

/** Queries, and the batches they were searched for in. */
export class RetrieverMetrics extends ServerMetrics {
  readonly #queries: Counter<"kind" | "outcome">;
  readonly #batchSizes: Histogram<"kind">;
  readonly #batchSeconds: Histogram<"kind" | "outcome">;

  /** @param numQueries - how many queries are being answered */
  constructor(numQueries: () => number) {
    super();
    const { Counter, Histogram } = prometheus();
    const registers = [this.registry];
    this.#queries = new Counter({
      name: "seekrl_queries_total",
      help: "Queries and texts: asked, joined to an equal one under way, or answered from the cache",
      labelNames: ["kind", "outcome"],
      registers,
    });
    this.#batchSizes = new Histogram({
      name: "seekrl_batch_queries",
      help: "Queries or texts of one batch",
      labelNames: ["kind"],
      buckets: sizeBuckets,
      registers,
    });
    this.#batchSeconds = new Histogram({
      name: "seekrl_batch_seconds",
      help: "How long batches took to search or embed",
      labelNames: ["kind", "outcome"],
      buckets: secondsBuckets,
      registers,
    });
    this.addGauge("seekrl_queries_waiting", "Queries that are being answered", numQueries);
  }

  /** Counts the batcher's events. */
  countBatchEvent(kind: BatchKind, event: BatchEvent): void {
    if (event.kind !== "batch") {
      this.#queries.inc({ kind, outcome: event.kind });
      return;
    }
    this.#batchSizes.observe({ kind }, event.size);
    this.#batchSeconds.observe({ kind, outcome: event.isFailed ? "failed" : "answered" }, event.seconds);
  }
}
