/** `POST /v1/embeddings` and `GET /v1/models`, as OpenAI's clients ask for them. */

import type { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import { zod } from "../../../../lib/base/on-first-use.ts";
import { Batcher, type BatchOptions } from "../../../../lib/search/batching/batcher.ts";
import { idsField, listField } from "../../http/body/list-field.ts";
import type { Call } from "../../http/call.ts";
import type { Gate } from "../../http/gate.ts";
import { Refusal } from "../../http/refusal.ts";
import { inParts, listOf } from "../../http/slices.ts";
import type { RetrieverLimits, ServedEmbedder } from "../options.ts";
import { forCall } from "../retriever.ts";

/** The server around the route: its bounds, how many texts it embeds at once, how it reads a body. */
export interface EmbeddingHost {
  readonly limits: Pick<RetrieverLimits, "maxQueries" | "maxQueryChars">;
  readonly gate: Gate;
  /** Whether the encoder answers under every name. @default false */
  readonly anyName?: boolean | undefined;
  read<Shape extends z.ZodType>(call: Call, schema: Shape): Promise<z.output<Shape>>;
}

/** A text, or the ids of one. */
type Input = string | readonly number[];

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
function numRead(inputs: readonly Input[], { embedder }: ServedEmbedder, role: keyof typeof groups): number {
  const read = (input: Input): number => {
    if (typeof input !== "string") return input.length;
    return embedder.countTokens?.(input, role) ?? input.match(/\S+/g)?.length ?? 0;
  };
  return inputs.reduce((sum, input) => sum + read(input), 0);
}

/** A list of what `input` holds: one text, several, the ids of one, those of several. */
const listed = (value: unknown): unknown => {
  const isOne = typeof value === "string" || (Array.isArray(value) && typeof value[0] === "number");
  return isOne ? [value] : value;
};

function requestSchema({ limits }: EmbeddingHost) {
  const z = zod();
  const text = z.string().min(1).max(limits.maxQueryChars);
  const ids = idsField({ min: 1, max: limits.maxQueryChars });
  const item = z.union([text, ids], { error: "expected a text or a list of ids" });
  return z.strictObject({
    input: z.preprocess(listed, listField(item, { min: 1, max: limits.maxQueries })),
    model: z.string().nullish(),
    encoding_format: z.enum(["float", "base64"]).nullish(),
    dimensions: z.int().nullish(),
    input_type: z.enum(["passage", "query"]).nullish(),
    user: z.string().nullish(),
  });
}

type EmbeddingRequest = z.output<ReturnType<typeof requestSchema>>;

/** @throws Refusal for another model or width */
function checkServed(
  { model, dimensions }: EmbeddingRequest,
  served: ServedEmbedder,
  { anyName = false }: EmbeddingHost,
): void {
  if (model != null && model !== served.model && !anyName) throw notServed(model, served.model, "model");
  const { dim } = served.embedder;
  if ((dimensions ?? dim) !== dim) throw notServed(String(dimensions), String(dim), "dimensions");
}

/** Vectors of texts that are ids already. @throws Refusal for what are no ids, and where texts alone are read */
async function ofIds(
  inputs: readonly (readonly number[])[],
  { embedder, model }: ServedEmbedder,
  { signal }: Call,
): Promise<Float32Array[]> {
  if (inputs.length === 0) return [];
  if (embedder.embedIds === undefined) throw notServed("ids", `texts, since ${model} reads no ids`, "input");
  const rows = inputs.map((ids) => Int32Array.from(ids));
  const vectors = await embedder.embedIds(rows, { signal }).catch((error: unknown) => {
    if (!(error instanceof SeekError && error.code === "ERR_RANGE")) throw error;
    throw new Refusal("invalid_request", error.message.replace(/^texts/, "input"));
  });
  return rows.map((_, i) => vectors.slice(i * embedder.dim, (i + 1) * embedder.dim));
}

const isText = (input: Input): input is string => typeof input === "string";

/**
 * `{input: str | [str] | [int] | [[int]], model?, encoding_format?, dimensions?, input_type?}` to OpenAI's list of
 * embeddings. `input_type` is "passage" or "query", by default the first; ids are read as they stand.
 */
export function embeddingsRoute(
  host: EmbeddingHost,
  served: ServedEmbedder,
  options: BatchOptions,
): (call: Call) => Promise<void> {
  const batcher = embedderBatcher(served, options);
  const schema = requestSchema(host);
  return async (call) => {
    const request = await host.read(call, schema);
    checkServed(request, served, host);
    const { input } = request;
    const [encoding, input_type] = [
      request.encoding_format ?? "float",
      request.input_type ?? "passage",
    ] as const;
    const leave = host.gate.enter(input.length);
    try {
      const find = (text: string): Promise<Float32Array> =>
        batcher.find(text, groups[input_type], call.signal);
      const ofTexts = inParts(input.filter(isText), (part) => Promise.all(part.map(find)));
      const lists = input.flatMap((each) => (isText(each) ? [] : [each]));
      const work = Promise.all([ofTexts, ofIds(lists, served, call)]);
      const [byText, byIds] = (await forCall(call, work)).map((found) => found.values());
      const vectors = input.map((each) => (isText(each) ? byText : byIds)?.next().value as Float32Array);
      const data = listOf(vectors, (vector, index) => ({
        object: "embedding",
        index,
        embedding: encodings[encoding](vector),
      }));
      const tokens = numRead(input, served, input_type);
      const usage = { prompt_tokens: tokens, total_tokens: tokens };
      const rest = JSON.stringify({ model: served.model, usage }).slice(1);
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
