/** `POST /v1/embeddings` of an encoder that is served beside models. */
import { Gate } from "../../http/gate.ts";
import type { Route } from "../../http/http-server.ts";
import type { ServedEmbedder } from "../../retriever/options.ts";
import { type EmbeddingHost, embeddingsRoute } from "../../retriever/protocols/openai.ts";
import type { ApiLimits } from "../fields/serving.ts";

/** Texts of one request, characters of a text, and texts that are embedded at once over all requests. */
const bounds = { maxQueries: 4096, maxQueryChars: 1 << 20, maxAtOnce: 8192 };

/**
 * The route, in the form that a retriever serves it.
 *
 * @param served - the encoder and its name
 * @param options - limits of a body, and whether it answers under every name
 */
export function servedEmbeddings(
  served: ServedEmbedder,
  { maxBodyBytes, anyName }: ApiLimits & Pick<EmbeddingHost, "anyName">,
): Route["handle"] {
  const gate = new Gate(bounds.maxAtOnce);
  gate.state = "ready";
  const host: EmbeddingHost = {
    limits: bounds,
    gate,
    anyName,
    read: (call, schema) => call.read(schema, { maxBodyBytes }),
  };
  return embeddingsRoute(host, served, { aloneAfterMs: 0 });
}
