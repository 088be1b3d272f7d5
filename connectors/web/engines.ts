/** Requests to the search engines of the web, and their answers. */
import type { z } from "zod";
import { lazySchema, onFirstUse, zod } from "../../lib/base/on-first-use.ts";
import { plainText } from "./page-text.ts";

/** Search engines with an HTTP interface. */
export type WebEngine = "serper" | "serpapi" | "google" | "brave" | "tavily" | "bocha";

/** A page that an engine found. */
export interface WebResult {
  readonly url: string;
  readonly title: string;
  readonly snippet: string;
  /** Where the engine gives one. */
  readonly score?: number | undefined;
}

/** What is asked. */
interface WebQuery {
  readonly query: string;
  readonly count: number;
  /** Pages of this site only. */
  readonly site?: string | undefined;
  readonly key: string;
}

/** One request: its parameters in the address or its body, its key in the address or a header. */
interface WebRequest {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One engine. */
export interface EngineShape {
  readonly url: string;
  /** The environment variable that holds the key. */
  readonly keyEnv: string;
  /** Results that one request can give. */
  readonly maxCount: number;
  readonly request: (query: WebQuery) => WebRequest;
  readonly answer: () => z.ZodType<WebResult[]>;
}

const text = lazySchema((z) =>
  z
    .string()
    .nullish()
    .transform((value) => value ?? ""),
);

/** The results in one of an answer's fields; an answer without it found nothing. */
function results<Item extends z.ZodType>(item: Item, read: (item: z.output<Item>) => WebResult) {
  return zod()
    .array(item)
    .nullish()
    .transform((items) => (items ?? []).map((one) => read(one as z.output<Item>)));
}

const linked = lazySchema((z) => z.looseObject({ link: z.string(), title: text(), snippet: text() }));
const fromLinked = onFirstUse(() =>
  results(linked(), ({ link: url, title, snippet }) => ({ url, title, snippet })),
);

/** The words that most engines understand. */
function onSite({ query, site }: WebQuery): string {
  return site === undefined ? query : `${query} site:${site}`;
}

/** Requests and answers as the engines document them; keys as they want them. */
export const engineShapes: Readonly<Record<WebEngine, EngineShape>> = {
  serper: {
    url: "https://google.serper.dev/search",
    keyEnv: "SERPER_API_KEY",
    maxCount: 100,
    request: (asked) => ({
      body: { q: onSite(asked), num: asked.count },
      headers: { "x-api-key": asked.key },
    }),
    answer: lazySchema((z) => z.looseObject({ organic: fromLinked() }).transform(({ organic }) => organic)),
  },
  serpapi: {
    url: "https://serpapi.com/search.json",
    keyEnv: "SERPAPI_API_KEY",
    maxCount: 100,
    request: (asked) => ({
      params: { engine: "google", q: onSite(asked), num: String(asked.count), api_key: asked.key },
    }),
    answer: lazySchema((z) =>
      z.looseObject({ organic_results: fromLinked() }).transform(({ organic_results: organic }) => organic),
    ),
  },
  google: {
    url: "https://customsearch.googleapis.com/customsearch/v1",
    keyEnv: "GOOGLE_API_KEY",
    maxCount: 10,
    request: (asked) => ({
      params: {
        q: onSite(asked),
        num: String(asked.count),
        key: asked.key,
        cx: process.env.GOOGLE_CSE_ID ?? "",
      },
    }),
    answer: lazySchema((z) => z.looseObject({ items: fromLinked() }).transform(({ items }) => items)),
  },
  brave: {
    url: "https://api.search.brave.com/res/v1/web/search",
    keyEnv: "BRAVE_API_KEY",
    maxCount: 20,
    request: (asked) => ({
      params: { q: onSite(asked), count: String(asked.count) },
      headers: { "x-subscription-token": asked.key },
    }),
    answer: lazySchema((z) =>
      z
        .looseObject({
          web: z
            .looseObject({
              results: results(
                z.looseObject({ url: z.string(), title: text(), description: text() }),
                // Brave marks the query's words with tags.
                ({ url, title, description }) => ({
                  url,
                  title: plainText(title),
                  snippet: plainText(description),
                }),
              ),
            })
            .optional(),
        })
        .transform(({ web }) => web?.results ?? []),
    ),
  },
  tavily: {
    url: "https://api.tavily.com/search",
    keyEnv: "TAVILY_API_KEY",
    maxCount: 20,
    request: ({ query, count, site, key }) => ({
      body: { query, max_results: count, include_domains: site === undefined ? undefined : [site] },
      headers: { authorization: `Bearer ${key}` },
    }),
    answer: lazySchema((z) =>
      z
        .looseObject({
          results: results(
            z.looseObject({ url: z.string(), title: text(), content: text(), score: z.number().optional() }),
            ({ url, title, content, score }) => ({ url, title, snippet: content, score }),
          ),
        })
        .transform(({ results }) => results),
    ),
  },
  bocha: {
    url: "https://api.bochaai.com/v1/web-search",
    keyEnv: "BOCHA_API_KEY",
    maxCount: 50,
    request: ({ query, count, site, key }) => ({
      body: {
        ...{ query, count, page: 1, freshness: "noLimit", summary: true },
        include: site,
      },
      headers: { authorization: `Bearer ${key}` },
    }),
    answer: lazySchema((z) =>
      z
        .looseObject({
          data: z.looseObject({
            webPages: z
              .looseObject({
                value: results(
                  z.looseObject({ url: z.string(), name: text(), snippet: text(), summary: text() }),
                  ({ url, name, snippet, summary }) => ({ url, title: name, snippet: summary || snippet }),
                ),
              })
              .nullish(),
          }),
        })
        .transform(({ data }) => data.webPages?.value ?? []),
    ),
  },
};
