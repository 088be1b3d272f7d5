/** Vectors from a server that speaks OpenAI's `/v1/embeddings`: SeekRL's own, vLLM and others. */

import type { z } from "zod";
import { checkOptions, type OptionKinds, optionsOf } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";
import { mapConcurrently } from "../../lib/base/map-concurrently.ts";
import { lazySchema } from "../../lib/base/on-first-use.ts";
import type { Embedder, EmbedOptions } from "../../lib/search/embed/embedder.ts";
import { Endpoint, httpUrl } from "./endpoint.ts";
import { Fault } from "./fault.ts";
import { type TransportOptions, transportKind } from "./guard.ts";
import { bearer, type KeyOptions, keyKinds, optionalKey } from "./secret.ts";

/** Which server and model, and how it is asked. */
export interface RemoteEmbedderOptions extends KeyOptions {
  /** `http://host:port`, to which `/v1/embeddings` is added, or the whole address of the route. */
  readonly url: string;
  readonly model: string;
  /** Width of a vector. */
  readonly dim: number;
  /** What stands before texts of a kind, for servers that do not add it. @default nothing */
  readonly prefixes?: { readonly passage?: string; readonly query?: string };
  /** Tells the server whether passages or queries come, as SeekRL's own and some others want to know. @default false */
  readonly sendInputType?: boolean;
  /** Texts of one request; longer lists become several. @default 256 */
  readonly maxTexts?: number;
  readonly transport?: TransportOptions;
}

const optionKinds: OptionKinds<RemoteEmbedderOptions> = {
  url: "string",
  model: "string",
  dim: "number",
  prefixes: optionsOf<NonNullable<RemoteEmbedderOptions["prefixes"]>>({ passage: "string", query: "string" }),
  sendInputType: "boolean",
  maxTexts: "number",
  transport: transportKind,
  ...keyKinds,
};

const answerSchema = lazySchema((z) =>
  z.looseObject({
    data: z.array(
      z.looseObject({ index: z.int().min(0), embedding: z.union([z.string(), z.array(z.number())]) }),
    ),
  }),
);

/**
 * An embedder that asks a server. The vectors travel as base64 where the server can, and as numbers where it cannot.
 *
 * @param options - address, model, width
 * @returns an embedder that rejects with ERR_REMOTE, also for vectors of another width, and with ERR_ABORTED
 * @throws ERR_ARGUMENT, ERR_RANGE
 * @example
 * const embedder = remoteEmbedder({ url: "http://127.0.0.1:8000", model: "bge-small-en", dim: 384 });
 * const search = qdrantSearch({ url: "http://127.0.0.1:6333", collection: "wiki", embedder });
 */
export function remoteEmbedder(options: RemoteEmbedderOptions): Embedder {
  checkOptions("remoteEmbedder", options, optionKinds, ["url", "model", "dim"]);
  const { url, dim, prefixes = {}, transport, maxTexts = 256 } = options;
  for (const [name, value] of Object.entries({ dim, maxTexts })) {
    if (Number.isInteger(value) && value >= 1) continue;
    throw new SeekError("ERR_RANGE", `${name}: expected an integer of at least 1, got ${value}`);
  }
  const endpoint = new Endpoint(httpUrl(url, "/v1/embeddings"), bearer(optionalKey(options)), transport);
  const embed = async (
    kind: "passage" | "query",
    texts: readonly string[],
    { signal }: EmbedOptions = {},
  ) => {
    const vectors = new Float32Array(texts.length * dim);
    const starts = Array.from({ length: Math.ceil(texts.length / maxTexts) }, (_, i) => i * maxTexts);
    await mapConcurrently(starts, starts.length, async (start) => {
      const input = texts.slice(start, start + maxTexts).map((text) => `${prefixes[kind] ?? ""}${text}`);
      const body = {
        ...{ input, model: options.model, encoding_format: "base64" },
        input_type: options.sendInputType ? kind : undefined,
      };
      const { data } = await endpoint.call({ body, expect: answerSchema(), signal });
      place(data, input.length, vectors.subarray(start * dim), { dim, name: endpoint.name });
    });
    return vectors;
  };
  return {
    dim,
    embedPassages: (texts, how) => embed("passage", texts, how),
    embedQueries: (texts, how) => embed("query", texts, how),
  };
}

/** Puts each vector in its row; the order of an answer is the server's affair. */
function place(
  data: z.output<ReturnType<typeof answerSchema>>["data"],
  count: number,
  rows: Float32Array,
  { dim, name }: { readonly dim: number; readonly name: string },
): void {
  const indexes = new Set(data.map(({ index }) => index));
  if (data.length !== count || indexes.size !== count || Math.max(...indexes) >= count) {
    throw new Fault(`${name}: expected ${count} embeddings, got ${data.length} with ${indexes.size} indexes`);
  }
  for (const { index, embedding } of data) {
    const vector = typeof embedding === "string" ? floats(embedding) : embedding;
    if (vector.length !== dim) {
      throw new Fault(`${name}: expected embeddings of width ${dim}, got ${vector.length}`);
    }
    rows.set(vector, index * dim);
  }
}

/** Little-endian, as on every machine that SeekRL runs on. */
function floats(base64: string): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(base64, "base64"));
  return new Float32Array(bytes.buffer, 0, Math.floor(bytes.byteLength / 4));
}
