/** A search as a service, in the protocols of the published systems. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { SeekError } from "../base/errors.ts";
import type { BatchEvent, BatchOptions } from "../search/batcher.ts";
import { retrieverApp } from "./app.ts";
import type { Call } from "./http/call.ts";
import { Refusal, refusalBody } from "./http/refusal.ts";
import { type BatchKind, ServeMetrics } from "./metrics.ts";
import { limitsOf, type RetrieverOptions } from "./options.ts";
import { Retriever } from "./retriever.ts";

/** How long answers that were cut short have to reach their clients, milliseconds. */
const lastAnswersMs = 500;

/** Longer than proxies and clients keep connections for a next request, or one would be sent into a closing one. */
const keepAliveMs = 75_000;

function listen(server: Server, { host = "127.0.0.1", port = 8000 }: RetrieverOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      reject(new SeekError("ERR_IO", `${host}:${port}: cannot listen: ${cause.message}`, { cause }));
    });
    server.listen(port, host, () => resolve(server.address() as AddressInfo));
  });
}

function batchOptions(
  kind: BatchKind,
  { batch = {} }: RetrieverOptions,
  metrics: ServeMetrics,
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
  metrics: ServeMetrics,
): Promise<void> {
  try {
    retriever.open(await options.search, batchOptions("search", options, metrics));
  } catch (error) {
    if (retriever.gate.state === "loading") retriever.gate.state = "failed";
    throw error;
  }
}

/** A host or path that is none, which no route ever sees. */
function badTarget(): Response {
  const body = refusalBody(new Refusal("invalid_request", "the host or path is malformed"), "error");
  return Response.json(body, { status: 400 });
}

/** A server that is listening. */
export class RetrieverServer {
  readonly host: string;
  readonly port: number;
  /** Settles when queries are answered; rejects as the promise of the search does. */
  readonly ready: Promise<void>;
  readonly #server: Server;
  readonly #retriever: Retriever;
  readonly #metrics: ServeMetrics;
  readonly #calls: Set<Call>;
  #closing: Promise<void> | undefined;

  private constructor(parts: ServerParts, { address, port }: AddressInfo, ready: Promise<void>) {
    this.host = address;
    this.port = port;
    this.ready = ready;
    this.#server = parts.server;
    this.#retriever = parts.retriever;
    this.#metrics = parts.metrics;
    this.#calls = parts.calls;
  }

  /** Starts one; see {@link serveRetriever}. */
  static async open(options: RetrieverOptions): Promise<RetrieverServer> {
    const retriever = new Retriever(limitsOf(options.limits));
    const metrics = new ServeMetrics(() => retriever.gate.numQueries);
    const calls = new Set<Call>();
    const batch = batchOptions("embed", options, metrics);
    const { fetch } = retrieverApp({ retriever, metrics, options, batch, calls });
    // The process's own Request and Response stay as they are.
    const listener = getRequestListener(fetch, { overrideGlobalObjects: false, errorHandler: badTarget });
    const server = createServer(
      { keepAliveTimeout: keepAliveMs, headersTimeout: keepAliveMs + 5000 },
      listener,
    );
    const ready = openSearch(retriever, options, metrics);
    // Whoever does not wait for it learns it from /health.
    ready.catch(() => {});
    try {
      const address = await listen(server, options);
      return new RetrieverServer({ server, retriever, metrics, calls }, address, ready);
    } catch (error) {
      metrics.close();
      throw error;
    }
  }

  /** Where it listens: `http://127.0.0.1:8000`. */
  get url(): string {
    return `http://${this.host.includes(":") ? `[${this.host}]` : this.host}:${this.port}`;
  }

  /**
   * Stops: no connection is taken any more, requests on open ones are refused, those under way are answered.
   *
   * @param options `graceMs`: how long requests under way may take before they are refused, `@default 10000`
   */
  close({ graceMs = 10_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#stop(graceMs);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #stop(graceMs: number): Promise<void> {
    this.#retriever.gate.state = "stopping";
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    for (const call of this.#calls) call.isLast = true;
    if (!(await this.#isIdleWithin(graceMs))) {
      for (const call of this.#calls) call.end(new Refusal("stopping", "the server is shutting down"));
      await this.#isIdleWithin(lastAnswersMs);
    }
    await Promise.race([closed, sleep(lastAnswersMs)]);
    this.#server.closeAllConnections();
    await closed;
    this.#metrics.close();
  }

  async #isIdleWithin(ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    while (this.#calls.size > 0 && performance.now() < end) await sleep(5);
    return this.#calls.size === 0;
  }
}

interface ServerParts {
  readonly server: Server;
  readonly retriever: Retriever;
  readonly metrics: ServeMetrics;
  readonly calls: Set<Call>;
}

/**
 * Serves a search on one port: `POST /retrieve` (RAG-R1, Search-R1), `POST /search`, `POST /batch_search` and
 * `GET /health` (ReSearch, FlashRAG), `POST /queries` (R1-Searcher), `POST /v1/embeddings` and `GET /v1/models`
 * (OpenAI), `GET /metrics` (Prometheus). The queries of all clients are searched in batches.
 *
 * @param options what to serve, where, within which limits
 * @returns the server, listening
 * @throws ERR_IO when the port cannot be had; ERR_RANGE for a limit below 1
 * @example
 * const server = await serveRetriever({ search: await openIndex("index"), port: 0 });
 * const body = JSON.stringify({ queries: ["capital of France"], topk: 1, return_scores: true });
 * const answer = await fetch(`${server.url}/retrieve`, { method: "POST", body });
 * const { result } = await answer.json(); // [[{ document: { id, contents }, score }]]
 * await server.close();
 */
export async function serveRetriever(options: RetrieverOptions): Promise<RetrieverServer> {
  return RetrieverServer.open(options);
}
