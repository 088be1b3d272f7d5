/** A server over a search that needs no index, and the ways in which tests ask it. */
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { RetrieverOptions } from "../../apps/serve/retriever/options.ts";
import { type RetrieverServer, serveRetriever } from "../../apps/serve/retriever/retriever-server.ts";
import type { Embedder } from "../../lib/search/embed/embedder.ts";
import type { Hit, Search } from "../../lib/search/search.ts";

/** Hits that tell which query they answer. */
export function hitsFor(query: string, topK: number): Hit[] {
  return Array.from({ length: topK }, (_, rank) => ({
    id: `${rank}`,
    title: `Title ${rank}`,
    text: `über ${query}`,
    score: 1 / 2 ** rank,
  }));
}

/** Answers at once. */
export const quickSearch: Search = async (queries, { topK }) => queries.map((query) => hitsFor(query, topK));

/** Takes its time, or as long as the test when the query is "stuck"; listens to its signal. */
export function slowSearch(ms: number): Search & { signals: AbortSignal[] } {
  const signals: AbortSignal[] = [];
  const search: Search = async (queries, { topK, signal }) => {
    if (signal) signals.push(signal);
    await sleep(queries.includes("stuck") ? 60_000 : ms, undefined, signal ? { signal } : {});
    return queries.map((query) => hitsFor(query, topK));
  };
  return Object.assign(search, { signals });
}

/** Vectors that tell passages from queries and carry the text's length. */
export const smallEmbedder: Embedder = {
  dim: 2,
  embedPassages: async (texts) => Float32Array.from(texts.flatMap((text) => [text.length, 0.5])),
  embedQueries: async (texts) => Float32Array.from(texts.flatMap((text) => [text.length, -0.5])),
};

/** A server that ends with the test. */
export async function served(
  context: TestContext,
  options: Partial<RetrieverOptions> = {},
): Promise<RetrieverServer> {
  const server = await serveRetriever({ search: quickSearch, port: 0, ...options });
  context.after(() => server.close({ graceMs: 0 }));
  return server;
}

/** Status, headers and body of an answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, parsed. */
  readonly json: unknown;
}

/** Posts a value as JSON, or a text as it is. */
export async function post(
  { url }: { readonly url: string },
  path: string,
  body: unknown,
  init: RequestInit = {},
): Promise<Answer> {
  const text = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const headers = { "content-type": "application/json", ...init.headers };
  const answer = await fetch(`${url}${path}`, { method: "POST", body: text as string, ...init, headers });
  return read(answer);
}

/** Reads a page. */
export async function get(
  { url }: { readonly url: string },
  path: string,
  init: RequestInit = {},
): Promise<Answer> {
  return read(await fetch(`${url}${path}`, init));
}

async function read(answer: Response): Promise<Answer> {
  const text = await answer.text();
  const isJson = answer.headers.get("content-type") === "application/json";
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}
