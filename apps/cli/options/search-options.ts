/** Where a command searches: an index folder of this machine, a server or several, or the web. */
import { join } from "node:path";
import { z } from "zod";
import type { RetrieverProtocol } from "../../../connectors/remote/protocols.ts";
import type { WebEngine } from "../../../connectors/web/engines.ts";
import type { Search } from "../../../lib/search/search.ts";
import { UsageError } from "../command.ts";
import { deviceName, inGroup, modelFolder } from "../fields.ts";
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

const index = z.strictObject({
  folder: z.string().describe("Index folder."),
  mode: z
    .enum(["bm25", "dense", "hybrid"])
    .optional()
    .describe("By words, by vectors, by both (both, if it has both)."),
  encoder: modelFolder(z.string().optional().describe("Folder of the index's encoder, if that was moved.")),
  device: deviceName.optional().describe("What that encoder runs on (cpu): cpu or cuda."),
  vectorsDevice: deviceName
    .optional()
    .describe("Where exact vectors of bf16, i8 or b1 are searched (cpu): cpu or cuda."),
  overFetch: z
    .int()
    .min(1)
    .optional()
    .describe("Candidates for each result that finer rows score again (4, for b1 20)."),
  distinct: z.boolean().optional().describe("Of passages with equal texts finds the best alone."),
});

const retriever = z.strictObject({
  url: z.string().describe("Address of the server."),
  protocol: z.enum(protocols).default("retrieve").describe("Its language."),
  keyEnv: z.string().optional().describe("Environment variable with its API key."),
});

const shards = z.strictObject({
  urls: z
    .string()
    .describe("Addresses of the parts' servers, with blanks between; a part's replicas with | between."),
  mode: z.enum(["bm25", "dense", "hybrid"]).optional().describe("As the parts are served, unless given."),
  hedgeAfterMs: z
    .int()
    .min(1)
    .default(1_000)
    .describe("How long a replica may take before another is asked as well."),
  keyEnv: z.string().optional().describe("Environment variable with the servers' API key."),
});

const web = z.strictObject({
  engine: z.enum(engines).describe("The search engine."),
  url: z.string().optional().describe("Address in place of the engine's own."),
  cache: z.string().optional().describe("Folder that keeps the engine's answers and the pages."),
  site: z.string().optional().describe("Pages of this site only."),
  pages: z.boolean().default(false).describe("Reads the pages instead of the engine's excerpts."),
});

/** The form of an encoder's weights, and where they are. */
export const encoderForm = {
  dtype: z
    .enum(["float32", "bfloat16"])
    .default("float32")
    .describe("Form of its weights; a GPU takes bfloat16."),
  device: deviceName.optional().describe("What it runs on (cpu): cpu or cuda."),
};

const reranker = z.strictObject({
  folder: modelFolder(z.string().describe("Folder of a cross-encoder.")),
  from: z.int().min(1).default(50).describe("Hits per query that it reads."),
  ...encoderForm,
});

/** One of `index`, `retriever`, `shards` and `web` must be given. */
export const searchOptions = inGroup("Search", {
  index: index.optional().meta({ head: "folder", description: "Searches in an index of this machine." }),
  retriever: retriever
    .optional()
    .meta({ head: "url", description: "Searches on a retrieval server instead." }),
  shards: shards
    .optional()
    .meta({ head: "urls", description: "Searches an index whose parts several servers hold instead." }),
  web: web.optional().meta({ head: "engine", description: "Searches the web instead." }),
  reranker: reranker.optional().meta({ head: "folder", description: "Puts the hits in a better order." }),
});

const schema = z.object(searchOptions);

/** What the options say. */
type SearchChoice = z.output<typeof schema> & {
  /** How often a server is asked again; a training outlasts its restart. @default 10 */
  readonly retries?: number;
};

/** A search that is given back when it is done with. */
export interface OpenedSearch extends Disposable {
  readonly search: Search;
}

/** A server may restart while a training asks it: within the deadline of a search, nothing is lost. */
const patientRetries = 10;

async function openFirst({ retries = patientRetries, ...choice }: SearchChoice): Promise<OpenedSearch> {
  const names = ["index", "retriever", "shards", "web"] as const;
  const given = names.filter((name) => choice[name] !== undefined);
  if (given.length === 1) {
    if (choice.index !== undefined) return openFolder(choice.index);
    if (choice.retriever !== undefined) return openRetriever(choice.retriever, retries);
    if (choice.shards !== undefined) return openShards(choice.shards, retries);
    if (choice.web !== undefined) return openWeb(choice.web, retries);
  }
  const got = given.map(flagName).join(" and ") || "none";
  throw new UsageError(`expected one of ${names.map(flagName).join(", ")}, got ${got}`);
}

async function openFolder({ folder, ...options }: z.output<typeof index>): Promise<OpenedSearch> {
  const { openIndex } = await import("../../../lib/search/index-folder/open.ts");
  const search = await openIndex(folder, options);
  return { search, [Symbol.dispose]: () => search.close() };
}

async function openRetriever(
  { url, protocol, keyEnv }: z.output<typeof retriever>,
  retries: number,
): Promise<OpenedSearch> {
  const { remoteSearch } = await import("../../../connectors/remote/remote-search.ts");
  const search = remoteSearch({ url, protocol, apiKeyEnv: keyEnv, transport: { retries } });
  return { search, [Symbol.dispose]: () => {} };
}

async function openShards(
  { urls, mode, hedgeAfterMs, keyEnv }: z.output<typeof shards>,
  retries: number,
): Promise<OpenedSearch> {
  const { shardedSearch } = await import("../../../connectors/remote/shards/sharded-search.ts");
  const parts = urls.split(/\s+/).filter((part) => part !== "");
  const search = shardedSearch({
    shards: parts.map((part) => part.split("|")),
    ...{ mode, hedgeAfterMs, apiKeyEnv: keyEnv, transport: { retries } },
  });
  return { search, [Symbol.dispose]: () => {} };
}

async function openWeb(
  { engine, url, cache, site, pages }: z.output<typeof web>,
  retries: number,
): Promise<OpenedSearch> {
  const { webSearch } = await import("../../../connectors/web/web-search.ts");
  const { pageReader, withPages } = await import("../../../connectors/web/page-reader.ts");
  const keptIn = (name: string) => (cache === undefined ? undefined : { folder: join(cache, name) });
  const search = webSearch({ engine, url, site, cache: keptIn("answers"), transport: { retries } });
  const read = pages ? withPages(search, { read: pageReader({ cache: keptIn("pages") }) }) : search;
  return { search: read, [Symbol.dispose]: () => {} };
}

/** A search, each call as it comes; disposing of it closes an index and a re-ranker. */
export async function openUnbatchedSearch(choice: SearchChoice): Promise<OpenedSearch> {
  const first = await openFirst(choice);
  if (choice.reranker === undefined) return first;
  const { Reranker } = await import("../../../lib/search/embed/reranker.ts");
  const { withReranking } = await import("../../../lib/search/reranking.ts");
  const { folder, from, ...options } = choice.reranker;
  const reranker = await Reranker.open(folder, options).catch((error: unknown) => {
    first[Symbol.dispose]();
    throw error;
  });
  const close = (): void => {
    first[Symbol.dispose]();
    reranker.close();
  };
  const search = withReranking(first.search, { reranker, topK: from });
  return { search, [Symbol.dispose]: close };
}

/** The same with its queries gathered into batches. */
export async function openSearch(choice: SearchChoice): Promise<OpenedSearch> {
  const { withBatching } = await import("../../../lib/search/batching/batching.ts");
  const opened = await openUnbatchedSearch(choice);
  // One query cannot hold up a batch of this machine's.
  const search = withBatching(opened.search, { aloneAfterMs: choice.index === undefined ? undefined : 0 });
  return { search, [Symbol.dispose]: () => opened[Symbol.dispose]() };
}
