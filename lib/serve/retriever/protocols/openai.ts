/** `POST /v1/embeddings` and `GET /v1/models`, as OpenAI's clients ask for them. */
import { zod } from "../../../base/on-first-use.ts";
import { Batcher, type BatchOptions } from "../../../search/batching/batcher.ts";
import type { Call } from "../../http/call.ts";
import { Refusal } from "../../http/refusal.ts";
import { inParts, listOf } from "../../http/slices.ts";
import type { ServedEmbedder } from "../options.ts";
import { forCall, type Retriever } from "../retriever.ts";

/** Passages and queries are embedded apart, since many encoders have a prefix for each. */
const groups = { passage: 0, query: 1 } as const;

/** Embeds in batches over all clients, as queries are searched. */
function embedderBatcher({ embedder }: ServedEmbedder, options: BatchOptions): Batcher<Float32Array> {
  const ask = async (
    texts: readonly string[],
    group: number,
    signal: AbortSignal,
  ): Promise<Float32Array[]> => {
    const isQueries = group === groups.query;
    const vectors = await (isQueries
      ? embedder.embedQueries(texts, { signal })
      : embedder.embedPassages(texts, { signal }));
    return texts.map((_, i) => vectors.slice(i * embedder.dim, (i + 1) * embedder.dim));
  };
  return new Batcher(ask, options, ({ byteLength }) => byteLength);
}

const encodings = {
  float: (vector: Float32Array) => [...vector],
  base64: ({ buffer, byteOffset, byteLength }: Float32Array) =>
    Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString("base64"),
};

function notServed(name: string, expected: string, param: string): Refusal {
  const msg = `expected ${expected}, got ${name.slice(0, 100)}`;
  const issue = { type: "value_error", loc: ["body", param], msg };
  const code = param === "model" ? "model_not_found" : "invalid_request";
  return new Refusal(code, `${param}: ${msg}`, { issues: [issue] });
}

/** What was read: tokens, or words where the embedder has no tokens. */
function numRead(texts: readonly string[], { embedder }: ServedEmbedder, role: keyof typeof groups): number {
  const read = (text: string): number =>
    embedder.countTokens?.(text, role) ?? text.match(/\S+/g)?.length ?? 0;
  return texts.reduce((sum, text) => sum + read(text), 0);
}

function requestSchema({ limits }: Retriever) {
  const z = zod();
  const text = z.string().min(1).max(limits.maxQueryChars);
  return z.object({
    input: z.preprocess(
      (value) => (typeof value === "string" ? [value] : value),
      z.array(text).min(1).max(limits.maxQueries),
    ),
    model: z.string(),
    encoding_format: z.enum(["float", "base64"]).default("float"),
    dimensions: z.int().nullish(),
    input_type: z.enum(["passage", "query"]).default("passage"),
  });
}

/**
 * `{input: str | [str], model, encoding_format?, dimensions?, input_type?}` to OpenAI's list of embeddings. `input_type`
 * is "passage" or "query", by default the first.
 */
export function embeddingsRoute(
  retriever: Retriever,
  served: ServedEmbedder,
  options: BatchOptions,
): (call: Call) => Promise<void> {
  const batcher = embedderBatcher(served, options);
  const schema = requestSchema(retriever);
  return async (call) => {
    const { input, model, encoding_format, dimensions, input_type } = await retriever.read(call, schema);
    if (model !== served.model) throw notServed(model, served.model, "model");
    const { dim } = served.embedder;
    if ((dimensions ?? dim) !== dim) throw notServed(String(dimensions), String(dim), "dimensions");
    const leave = retriever.gate.enter(input.length);
    try {
      const find = (text: string): Promise<Float32Array> =>
        batcher.find(text, groups[input_type], call.signal);
      const work = inParts(input, (part) => Promise.all(part.map(find)));
      const vectors = await forCall(call, work);
      const data = listOf(vectors, (vector, index) => ({
        object: "embedding",
        index,
        embedding: encodings[encoding_format](vector),
      }));
      const tokens = numRead(input, served, input_type);
      const usage = { prompt_tokens: tokens, total_tokens: tokens };
      const rest = JSON.stringify({ model, usage }).slice(1);
      await call.answerLong('{"object":"list","data":', data, `,${rest}`);
    } finally {
      leave();
    }
  };
}

/** The one model, or none. */
export function modelsRoute(served: ServedEmbedder | undefined): (call: Call) => void {
  const created = Math.floor(Date.now() / 1000);
  const models = served ? [{ id: served.model, object: "model", created, owned_by: "seekrl" }] : [];
  return (call) => call.answer({ object: "list", data: models });
}
