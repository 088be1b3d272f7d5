/** What every server measures of itself, in Prometheus' text format. */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Gauge, Histogram, Registry } from "prom-client";
import { lazyPackage } from "../../../lib/base/on-first-use.ts";
import type { Call } from "./call.ts";

/** The package that counts, loaded when a server opens. */
export const prometheus = lazyPackage<typeof import("prom-client")>("prom-client");

/** Between two looks at the event loop, milliseconds. */
const resolutionMs = 5;

/** Bounds of histograms of times, seconds. */
export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** A registry of its own, so that several servers of one process do not mix. */
export class ServerMetrics {
  /** Where a server's further figures are registered. */
  readonly registry: Registry;
  readonly #loop: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  readonly #requests: Histogram<"route" | "status">;

  constructor() {
    const { Histogram, Registry } = prometheus();
    this.registry = new Registry();
    this.#requests = new Histogram({
      name: "seekrl_request_seconds",
      help: "Requests by route and status: their number and how long they took",
      labelNames: ["route", "status"],
      buckets: secondsBuckets,
      registers: [this.registry],
    });
    this.#addProcess();
    this.#addLoop();
    this.#loop.enable();
  }

  /** Counts a request that was answered. */
  countRequest({ route, status, startedAt }: Call): void {
    this.#requests.observe({ route, status }, (performance.now() - startedAt) / 1000);
  }

  /** A figure that is looked up when it is asked for. */
  addGauge(name: string, help: string, read: () => number | Promise<number>): void {
    const { Gauge } = prometheus();
    const registers = [this.registry];
    new Gauge({
      ...{ name, help, registers },
      async collect() {
        this.set(await read());
      },
    });
  }

  /** Answers with everything as text. */
  async answer(call: Call): Promise<void> {
    const text = Buffer.from(await this.registry.metrics());
    call.send([text], 200, { "content-type": this.registry.contentType });
  }

  /** Stops looking at the event loop. */
  close(): void {
    this.#loop.disable();
  }

  #addProcess(): void {
    const { Counter } = prometheus();
    new Counter({
      name: "process_cpu_seconds_total",
      help: "Processor time of the whole process",
      registers: [this.registry],
      collect() {
        const { user, system } = process.cpuUsage();
        this.reset();
        this.inc((user + system) / 1e6);
      },
    });
    this.addGauge(
      "process_resident_memory_bytes",
      "Memory of the whole process, parts of mapped files that are in use included",
      () => process.memoryUsage.rss(),
    );
  }

  #addLoop(): void {
    const { Gauge } = prometheus();
    const readLoop = (gauge: Gauge<"quantile">): void => this.#readLoop(gauge);
    new Gauge({
      name: "seekrl_event_loop_delay_seconds",
      help: "How late the event loop was since the last look at these figures",
      labelNames: ["quantile"],
      registers: [this.registry],
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
