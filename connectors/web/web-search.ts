/** Search on the web: one function over six engines. */

import { checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";
import { mapConcurrently } from "../../lib/base/map-concurrently.ts";
import { lazySchema } from "../../lib/base/on-first-use.ts";
import type { Hit, Search } from "../../lib/search/search.ts";
import { Endpoint, httpUrl } from "../remote/endpoint.ts";
import { type TransportOptions, transportKind } from "../remote/guard.ts";
import { type KeyOptions, keyKinds, optionalKey } from "../remote/secret.ts";
import { DiskCache, type DiskCacheOptions, diskCacheKind } from "./disk-cache.ts";
import { type EngineShape, engineShapes, type WebEngine, type WebResult } from "./engines.ts";

/** Which engine, and how it is asked. Without `apiKey` or `apiKeyEnv` the engine's own variable is read. */
export interface WebSearchOptions extends KeyOptions {
  readonly engine: WebEngine;
  /** Pages of this site only, such as `en.wikipedia.org`. */
  readonly site?: string;
  /** An address in place of the engine's: a proxy, or a server of the same interface. */
  readonly url?: string;
  /** Keeps answers on disk, so that a question is paid for once. @default none is kept */
  readonly cache?: DiskCacheOptions;
  readonly transport?: TransportOptions;
}

const optionKinds: OptionKinds<WebSearchOptions> = {
  engine: "string",
  site: "string",
  url: "string",
  cache: diskCacheKind,
  transport: transportKind,
  ...keyKinds,
};

const cachedSchema = lazySchema((z) =>
  z.array(
    z.object({ url: z.string(), title: z.string(), snippet: z.string(), score: z.number().optional() }),
  ),
);

/**
 * Search on the web. A hit's id is the page's address and its text the engine's excerpt; `withPages` puts the page's
 * text in its place. Engines that give no scores are scored by place, 1, 1/2, 1/3, ...
 *
 * @param options - engine, site, key, cache
 * @returns a search that rejects with ERR_REMOTE and ERR_ABORTED, and with ERR_RANGE for more hits than an engine gives
 * @throws ERR_ARGUMENT for an unknown key, and when the key's environment variable is not set, ERR_RANGE
 * @example
 * const search = webSearch({ engine: "serper", apiKey: "from a safe place", site: "en.wikipedia.org" });
 */
export function webSearch(options: WebSearchOptions): Search {
  checkOptions("webSearch", options, optionKinds, ["engine"]);
  const { engine, site, cache } = options;
  const shape = engineShapes[engine];
  if (shape === undefined) {
    const known = Object.keys(engineShapes).join(", ");
    throw new SeekError("ERR_ARGUMENT", `engine: expected ${known}, got ${engine}`);
  }
  const key = keyOf(shape, options);
  const endpoint = new Endpoint(httpUrl(options.url ?? shape.url), { secrets: [key] }, options.transport);
  const kept = cache && new DiskCache(cache, cachedSchema());
  return async (queries, { topK, signal }) => {
    checkCount(engine, shape, topK);
    return mapConcurrently(queries, queries.length, async (query) => {
      const name = JSON.stringify({ engine, query, topK, site });
      const known = await kept?.get(name);
      const found = known ?? (await ask(endpoint, shape, { query, count: topK, site, key }, signal));
      if (known === undefined) await kept?.set(name, found);
      return found.slice(0, topK).map(hitOf);
    });
  };
}

function keyOf({ keyEnv }: EngineShape, { apiKey, apiKeyEnv, engine }: WebSearchOptions): string {
  if (engine === "google" && !process.env.GOOGLE_CSE_ID) {
    throw new SeekError(
      "ERR_ARGUMENT",
      "GOOGLE_CSE_ID: expected the search engine's id in this environment variable, got none",
    );
  }
  return optionalKey({ apiKey, apiKeyEnv: apiKeyEnv ?? keyEnv }) ?? "";
}

function checkCount(engine: WebEngine, { maxCount }: EngineShape, topK: number): void {
  if (Number.isInteger(topK) && topK >= 1 && topK <= maxCount) return;
  throw new SeekError("ERR_RANGE", `topK: ${engine} gives 1 to ${maxCount} pages, got ${topK}`);
}

async function ask(
  endpoint: Endpoint,
  shape: EngineShape,
  query: Parameters<EngineShape["request"]>[0],
  signal: AbortSignal | undefined,
): Promise<WebResult[]> {
  const { params = {}, body, headers = {} } = shape.request(query);
  const url = new URL(endpoint.url);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  const method = body === undefined ? "GET" : "POST";
  return endpoint.call({ url, method, body, headers, expect: shape.answer(), signal });
}

function hitOf({ url, title, snippet, score }: WebResult, rank: number): Hit {
  return { id: url, title, text: snippet, score: score ?? 1 / (rank + 1) };
}
