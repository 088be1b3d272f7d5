/** What the server measures of itself, in Prometheus' text format. */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import { lazyPackage } from "../../base/on-first-use.ts";
import type { BatchEvent } from "../../search/batching/batcher.ts";
import type { Call } from "../http/call.ts";

const prometheus = lazyPackage<typeof import("prom-client")>("prom-client");

/** Between two looks at the event loop, milliseconds. */
const resolutionMs = 5;

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const sizeBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** What was gathered into batches: queries to search for, or texts to embed. */
export type BatchKind = "search" | "embed";

/** A registry of its own, so that several servers of one process do not mix. */
export class ServeMetrics {
  readonly #registry: Registry;
  readonly #loop: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  readonly #requests: Histogram<"route" | "status">;
  readonly #queries: Counter<"kind" | "outcome">;
  readonly #batchSizes: Histogram<"kind">;
  readonly #batchSeconds: Histogram<"kind" | "outcome">;

  /** @param numQueries - how many queries are being answered */
  constructor(numQueries: () => number) {
    const { Counter, Histogram, Registry } = prometheus();
    this.#registry = new Registry();
    const registers = [this.#registry];
    this.#requests = new Histogram({
      name: "seekrl_request_seconds",
      help: "Requests by route and status: their number and how long they took",
      labelNames: ["route", "status"],
      buckets: secondsBuckets,
      registers,
    });
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
    this.#addGauges(numQueries);
    this.#loop.enable();
  }

  /** The type of the text. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Counts a request that was answered. */
  countRequest({ route, status, startedAt }: Call): void {
    this.#requests.observe({ route, status }, (performance.now() - startedAt) / 1000);
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

  /** Everything as text. */
  async text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Stops looking at the event loop. */
  close(): void {
    this.#loop.disable();
  }

  #addGauges(numQueries: () => number): void {
    const { Counter, Gauge } = prometheus();
    const registers = [this.#registry];
    new Gauge({
      name: "seekrl_queries_waiting",
      help: "Queries that are being answered",
      registers,
      collect() {
        this.set(numQueries());
      },
    });
    new Counter({
      name: "process_cpu_seconds_total",
      help: "Processor time of the whole process",
      registers,
      collect() {
        const { user, system } = process.cpuUsage();
        this.reset();
        this.inc((user + system) / 1e6);
      },
    });
    new Gauge({
      name: "process_resident_memory_bytes",
      help: "Memory of the whole process, parts of the mapped index that are in use included",
      registers,
      collect() {
        this.set(process.memoryUsage.rss());
      },
    });
    const readLoop = (gauge: Gauge<"quantile">): void => this.#readLoop(gauge);
    new Gauge({
      name: "seekrl_event_loop_delay_seconds",
      help: "How late the event loop was since the last look at these figures",
      labelNames: ["quantile"],
      registers,
      collect() {
        readLoop(this);
      },
    });
  }

  #readLoop(gauge: Gauge<"quantile">): void {
    // The monitor counts the time between two looks, of which the resolution is no delay.
    const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1e3);
    for (const quantile of [0.5, 0.9, 0.99]) {
      const value = this.#loop.count > 0 ? late(this.#loop.percentile(quantile * 100)) : 0;
      gauge.set({ quantile: String(quantile) }, value);
    }
    gauge.set({ quantile: "1" }, this.#loop.count > 0 ? late(this.#loop.max) : 0);
    this.#loop.reset();
  }
}
