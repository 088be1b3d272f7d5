/** Where a command searches: an index folder of this machine, a server, or the web. */
import { join } from "node:path";
import { z } from "zod";
import type { RetrieverProtocol } from "../../../lib/remote/protocols.ts";
import type { Search } from "../../../lib/search/search.ts";
import type { WebEngine } from "../../../lib/web/engines.ts";
import { UsageError } from "../command.ts";
import { flagName } from "../flags.ts";

const protocols = [
  "retrieve",
  "search",
  "batch_search",
  "queries",
] as const satisfies readonly RetrieverProtocol[];

const engines = [
  "serper",
  "serpapi",
  "google",
  "brave",
  "tavily",
  "bocha",
] as const satisfies readonly WebEngine[];

/** One of `index`, `retriever` and `web` must be given. */
export const searchOptions = {
  index: z.string().optional().describe("index folder to search in"),
  mode: z
    .enum(["bm25", "dense", "hybrid"])
    .optional()
    .describe("by words, by vectors, by both (if it has both)"),
  indexEncoder: z.string().optional().describe("folder of the index's encoder, if that was moved"),
  retriever: z.string().optional().describe("address of a retrieval server to search on instead"),
  protocol: z.enum(protocols).default("retrieve").describe("the server's language"),
  retrieverKeyEnv: z.string().optional().describe("environment variable with the server's API key"),
  web: z.enum(engines).optional().describe("search engine of the web to ask instead"),
  webUrl: z.string().optional().describe("address in place of the engine's own"),
  webCache: z.string().optional().describe("folder that keeps the engine's answers and the pages"),
  site: z.string().optional().describe("pages of this site only"),
  pages: z.boolean().optional().describe("reads the pages instead of the engine's excerpts"),
  reranker: z.string().optional().describe("folder of a cross-encoder that puts the hits in order"),
  rerankFrom: z.int().min(1).default(50).describe("hits per query that the re-ranker reads"),
};

const schema = z.object(searchOptions);

/** What the options say. */
export type SearchChoice = z.output<typeof schema> & {
  /** How often a server is asked again; a training outlasts its restart. @default 10 */
  readonly retries?: number;
};

/** A search that is given back when it is done with. */
export interface OpenedSearch extends Disposable {
  readonly search: Search;
}

/** A server may restart while a training asks it: within the deadline of a search, nothing is lost. */
const patientRetries = 10;

/** What each place to search needs of the options; what belongs to another place is refused. */
const places = {
  index: { own: ["mode", "indexEncoder"], open: openFolder },
  retriever: { own: ["retrieverKeyEnv"], open: openRetriever },
  web: { own: ["webUrl", "webCache", "site", "pages"], open: openWeb },
} as const;

async function openFirst(choice: SearchChoice): Promise<OpenedSearch> {
  const names = Object.keys(places) as (keyof typeof places)[];
  const given = names.filter((name) => choice[name] !== undefined);
  const [place] = given;
  if (place === undefined || given.length > 1) {
    const got = given.map(flagName).join(" and ") || "none";
    throw new UsageError(`expected one of ${names.map(flagName).join(", ")}, got ${got}`);
  }
  for (const name of names.filter((each) => each !== place)) {
    const stray = places[name].own.find((key) => choice[key] !== undefined);
    if (stray !== undefined) throw new UsageError(`${flagName(stray)}: expected only with ${flagName(name)}`);
  }
  return places[place].open(choice);
}

async function openFolder({ index = "", mode, indexEncoder }: SearchChoice): Promise<OpenedSearch> {
  const { openIndex } = await import("../../../lib/index-folder/open.ts");
  const search = await openIndex(index, {
    mode,
    encoder: indexEncoder,
  });
  return { search, [Symbol.dispose]: () => search.close() };
}

async function openRetriever({
  retriever = "",
  protocol,
  retrieverKeyEnv,
  retries = patientRetries,
}: SearchChoice): Promise<OpenedSearch> {
  const { remoteSearch } = await import("../../../lib/remote/remote-search.ts");
  const transport = { retries };
  const search = remoteSearch({ url: retriever, protocol, apiKeyEnv: retrieverKeyEnv, transport });
  return { search, [Symbol.dispose]: () => {} };
}

async function openWeb({
  web = "serper",
  webUrl,
  webCache,
  site,
  pages,
  retries = patientRetries,
}: SearchChoice): Promise<OpenedSearch> {
  const { webSearch } = await import("../../../lib/web/web-search.ts");
  const { pageReader, withPages } = await import("../../../lib/web/page-reader.ts");
  const cacheIn = (folder: string) =>
    webCache === undefined ? {} : { cache: { folder: join(webCache, folder) } };
  const search = webSearch({
    engine: web,
    url: webUrl,
    site,
    ...cacheIn("answers"),
    transport: { retries },
  });
  const read = pages === true ? withPages(search, { read: pageReader(cacheIn("pages")) }) : search;
  return { search: read, [Symbol.dispose]: () => {} };
}

/** A search, each call as it comes; disposing of it closes an index and a re-ranker. */
export async function openUnbatchedSearch(choice: SearchChoice): Promise<OpenedSearch> {
  const first = await openFirst(choice);
  if (choice.reranker === undefined) return first;
  const { Reranker } = await import("../../../lib/embed/reranker.ts");
  const { withReranking } = await import("../../../lib/search/reranking.ts");
  const reranker = await Reranker.open(choice.reranker).catch((error: unknown) => {
    first[Symbol.dispose]();
    throw error;
  });
  const close = (): void => {
    first[Symbol.dispose]();
    reranker.close();
  };
  const search = withReranking(first.search, { reranker, topK: choice.rerankFrom });
  return { search, [Symbol.dispose]: close };
}

/** The same with its queries gathered into batches. */
export async function openSearch(choice: SearchChoice): Promise<OpenedSearch> {
  const { withBatching } = await import("../../../lib/search/batching.ts");
  const opened = await openUnbatchedSearch(choice);
  // One query cannot hold up a batch of this machine's.
  const search = withBatching(opened.search, choice.index === undefined ? {} : { aloneAfterMs: 0 });
  return { search, [Symbol.dispose]: () => opened[Symbol.dispose]() };
}
