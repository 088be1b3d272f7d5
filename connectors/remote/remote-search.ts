/** Search on a retrieval server that speaks one of the published systems' protocols. */
import { checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";
import { mapConcurrently } from "../../lib/base/map-concurrently.ts";
import type { Hit, Search } from "../../lib/search/search.ts";
import { Endpoint, httpUrl } from "./endpoint.ts";
import { Fault } from "./fault.ts";
import { type TransportOptions, transportKind } from "./guard.ts";
import { type ProtocolShape, protocolShapes, type RetrieverProtocol } from "./protocols.ts";
import { bearer, type KeyOptions, keyKinds, optionalKey } from "./secret.ts";

/** Which server, and how it is asked. */
export interface RemoteSearchOptions extends KeyOptions {
  /** `http://host:port`, to which the protocol's path is added, or the whole address of the route. */
  readonly url: string;
  /** @default "retrieve" */
  readonly protocol?: RetrieverProtocol;
  /** Queries of one request; longer lists become several. @default 256 */
  readonly maxQueries?: number;
  readonly transport?: TransportOptions;
}

const optionKinds: OptionKinds<RemoteSearchOptions> = {
  url: "string",
  protocol: "string",
  maxQueries: "number",
  transport: transportKind,
  ...keyKinds,
};

/**
 * Search on a retrieval server: SeekRL's own, or RAG-R1's, Search-R1's, ReSearch's, FlashRAG's or R1-Searcher's.
 * A key, if there is one, is sent as `Authorization: Bearer`.
 *
 * @param options - address, protocol, key, transport
 * @returns a search that rejects with ERR_REMOTE naming the address, what was expected and what came, or ERR_ABORTED
 * @throws ERR_ARGUMENT when the address is not http(s), the protocol unknown or the key's variable not set; ERR_RANGE
 * @example
 * const search = remoteSearch({ url: retrieverUrl, protocol: "retrieve" });
 * const [hits] = await search(["capital of France"], { topK: 3 });
 * console.log(hits.map(({ title, score }) => `${title} ${score}`));
 */
export function remoteSearch(options: RemoteSearchOptions): Search {
  checkOptions("remoteSearch", options, optionKinds, ["url"]);
  const { url, protocol = "retrieve", maxQueries = 256, transport = {} } = options;
  const shape = protocolShapes()[protocol];
  if (shape === undefined) {
    throw new SeekError(
      "ERR_ARGUMENT",
      `protocol: expected ${Object.keys(protocolShapes()).join(", ")}, got ${protocol}`,
    );
  }
  if (!Number.isInteger(maxQueries) || maxQueries < 1) {
    throw new SeekError("ERR_RANGE", `maxQueries: expected an integer of at least 1, got ${maxQueries}`);
  }
  const endpoint = new Endpoint(httpUrl(url, shape.path), bearer(optionalKey(options)), transport);
  const size = Math.min(shape.maxQueries, maxQueries);
  return async (queries, { topK, signal }) => {
    const parts = Array.from({ length: Math.ceil(queries.length / size) }, (_, i) =>
      queries.slice(i * size, (i + 1) * size),
    );
    // The endpoint has a limit of its own, so all parts may stand in its line.
    const found = await mapConcurrently(parts, parts.length, (part) =>
      ask(endpoint, shape, part, topK, signal),
    );
    return found.flat();
  };
}

async function ask(
  endpoint: Endpoint,
  shape: ProtocolShape,
  queries: readonly string[],
  topK: number,
  signal: AbortSignal | undefined,
): Promise<Hit[][]> {
  const body = shape.body(queries, topK);
  const found = await endpoint.call({ body, expect: shape.answer, signal });
  if (found.length === queries.length) return found.map((hits) => hits.slice(0, topK));
  const counts = `expected ${queries.length} lists of documents, got ${found.length}`;
  throw new Fault(`${endpoint.name}: ${counts}`);
}
