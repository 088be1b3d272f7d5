/** The routes of a retriever server, and what every request passes through. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono } from "hono";
import type { BatchOptions } from "../search/batcher.ts";
import { Call } from "./http/call.ts";
import { type Dialect, Refusal, refusals } from "./http/refusal.ts";
import type { ServeMetrics } from "./metrics.ts";
import type { RetrieverOptions } from "./options.ts";
import { batchSearchRoute, healthRoute, searchRoute } from "./protocols/flashrag.ts";
import { embeddingsRoute, modelsRoute } from "./protocols/openai.ts";
import { queriesRoute } from "./protocols/r1-searcher.ts";
import { retrieveRoute } from "./protocols/search-r1.ts";
import type { Retriever } from "./retriever.ts";
import { failureOf } from "./retriever.ts";

/** A route: how it is asked, how it words refusals, what it does. */
interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly dialect: Dialect;
  handle(call: Call): void | Promise<void>;
}

/** What the routes are made of. */
export interface AppParts {
  readonly retriever: Retriever;
  readonly metrics: ServeMetrics;
  readonly options: RetrieverOptions;
  /** How texts to embed are gathered. */
  readonly batch: BatchOptions;
  /** The calls that are being answered. */
  readonly calls: Set<Call>;
}

function metricsRoute(metrics: ServeMetrics): (call: Call) => Promise<void> {
  return async (call) =>
    call.send([Buffer.from(await metrics.text())], 200, { "content-type": metrics.contentType });
}

function routesOf({ retriever, metrics, options, batch }: AppParts): Route[] {
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
    get("/v1/models", "error", modelsRoute(embedding)),
    get("/metrics", "error", metricsRoute(metrics)),
  ];
  if (embedding) routes.push(post("/v1/embeddings", "error", embeddingsRoute(retriever, embedding, batch)));
  return routes;
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Compares digests, so that the time it takes says nothing about the key. */
function checkKey(call: Call, apiKey: string | undefined): void {
  if (apiKey === undefined || call.route === "/health") return;
  const [, given = ""] = /^bearer +(.+)$/i.exec(call.incoming.headers.authorization ?? "") ?? [];
  if (timingSafeEqual(digest(given), digest(apiKey))) return;
  const headers = { "www-authenticate": "Bearer" };
  throw new Refusal("unauthorized", "authorization: expected a bearer token that this server knows", {
    headers,
  });
}

/** A method or path that leads nowhere. */
function lost(incoming: Call["incoming"], path: string, known: Route | undefined): () => void {
  return () => {
    if (known === undefined) throw new Refusal("not_found", `${path.slice(0, 100)}: no such path`);
    const headers = { allow: known.method };
    const message = `${known.path}: expected ${known.method}, got ${incoming.method}`;
    throw new Refusal("method_not_allowed", message, { headers });
  };
}

type Env = { Bindings: HttpBindings };

/**
 * Puts the routes together. Answers are written to Node's response directly: that is faster than the web's Response
 * over it, and lets a client that has gone end the work for it.
 */
export function retrieverApp(parts: AppParts): Hono<Env> {
  const { retriever, metrics, options, calls } = parts;
  const { timeoutMs } = retriever.limits;
  const run = async (context: Context<Env>, route: Omit<Route, "method">): Promise<Response> => {
    const { incoming, outgoing } = context.env;
    const call = new Call(incoming, outgoing, { route: route.path, dialect: route.dialect, timeoutMs });
    calls.add(call);
    try {
      call.isLast = retriever.gate.state === "stopping";
      checkKey(call, options.apiKey);
      await route.handle(call);
      if (call.fault !== undefined)
        options.onFault?.({ requestId: call.id, route: call.route, error: call.fault });
    } catch (error) {
      const refusal = failureOf(error);
      const isFault = refusals[refusal.code] === 500 || refusal.code === "search_failed";
      if (isFault)
        options.onFault?.({ requestId: call.id, route: call.route, error: refusal.cause ?? error });
      call.refuse(refusal);
    } finally {
      calls.delete(call);
      metrics.countRequest(call);
    }
    return RESPONSE_ALREADY_SENT;
  };
  const app = new Hono<Env>();
  const routes = routesOf(parts);
  for (const route of routes) app.on(route.method, route.path, (context) => run(context, route));
  app.notFound((context) => {
    const { path } = context.req;
    const known = routes.find((each) => each.path === path);
    const dialect = known?.dialect ?? "error";
    return run(context, {
      path: known?.path ?? "other",
      dialect,
      handle: lost(context.env.incoming, path, known),
    });
  });
  return app;
}
