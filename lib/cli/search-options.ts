/** Where a command searches: an index folder of this machine, or a server. */
import { z } from "zod";
import type { RetrieverProtocol } from "../remote/protocols.ts";
import type { Search } from "../search/search.ts";
import { UsageError } from "./command.ts";

const protocols = [
  "retrieve",
  "search",
  "batch_search",
  "queries",
] as const satisfies readonly RetrieverProtocol[];

/** One of `index` and `retriever` must be given. */
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
  reranker: z.string().optional().describe("folder of a cross-encoder that puts the hits in order"),
  rerankFrom: z.int().min(1).default(50).describe("hits per query that the re-ranker reads"),
};

const schema = z.object(searchOptions);

/** What the options say. */
export type SearchChoice = z.output<typeof schema>;

/** A search that is given back when it is done with. */
export interface OpenedSearch extends Disposable {
  readonly search: Search;
}

/** A server may restart while a training asks it: within the deadline of a search, nothing is lost. */
const patient = { retries: 10 };

async function openFirst({
  index,
  mode,
  indexEncoder,
  retriever,
  ...server
}: SearchChoice): Promise<OpenedSearch> {
  if (index !== undefined && retriever === undefined) {
    const { openIndex } = await import("../index-folder/open.ts");
    const search = await openIndex(index, {
      ...(mode ? { mode } : {}),
      ...(indexEncoder ? { encoder: indexEncoder } : {}),
    });
    return { search, [Symbol.dispose]: () => search.close() };
  }
  if (retriever !== undefined && index === undefined) {
    const { remoteSearch } = await import("../remote/remote-search.ts");
    const { protocol, retrieverKeyEnv: apiKeyEnv } = server;
    if (mode !== undefined) throw new UsageError("--mode: the server chooses its own, expected none");
    const search = remoteSearch({ url: retriever, protocol, apiKeyEnv, transport: patient });
    return { search, [Symbol.dispose]: () => {} };
  }
  throw new UsageError(`expected --index or --retriever, got ${index === undefined ? "neither" : "both"}`);
}

/** A search, each call as it comes; disposing of it closes an index and a re-ranker. */
export async function openUnbatchedSearch(choice: SearchChoice): Promise<OpenedSearch> {
  const first = await openFirst(choice);
  if (choice.reranker === undefined) return first;
  const { Reranker } = await import("../embed/reranker.ts");
  const { reranked } = await import("../search/reranked.ts");
  const reranker = await Reranker.open(choice.reranker).catch((error: unknown) => {
    first[Symbol.dispose]();
    throw error;
  });
  const close = (): void => {
    first[Symbol.dispose]();
    reranker.close();
  };
  const search = reranked(first.search, reranker, { topK: choice.rerankFrom });
  return { search, [Symbol.dispose]: close };
}

/** The same with its queries gathered into batches. */
export async function openSearch(choice: SearchChoice): Promise<OpenedSearch> {
  const { batched } = await import("../search/batched.ts");
  const opened = await openUnbatchedSearch(choice);
  // One query cannot hold up a batch of this machine's.
  const search = batched(opened.search, choice.index === undefined ? {} : { aloneAfterMs: 0 });
  return { search, [Symbol.dispose]: () => opened[Symbol.dispose]() };
}
