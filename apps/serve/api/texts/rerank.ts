/** `POST /v1/rerank` of a cross-encoder, as Jina's and Cohere's clients ask for it. */

import type { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import { breathe } from "../../../../lib/base/slices/breathe.ts";
import type { Reranker } from "../../../../lib/search/embed/reranker.ts";
import { listField } from "../../http/body/list-field.ts";
import type { Call } from "../../http/call.ts";
import { Refusal, refused } from "../../http/refusal.ts";
import { newId } from "../../reply/ids.ts";
import type { ApiLimits } from "../fields/serving.ts";

/** A re-ranker to be served under `/v1/rerank`, and its name there. */
export interface ServedReranker {
  readonly model: string;
  readonly reranker: Pick<Reranker, "score" | "countTokens">;
}

/** Documents of one request. */
const maxDocuments = 4096;

/** Characters of a query over all documents: it is read again with each of them. */
const maxPairedChars = 1 << 24;

const body = lazySchema((z) => {
  const text = z.string().min(1);
  const document = z.union([text, z.strictObject({ text })], { error: "expected a text or {text}" });
  return z.strictObject({
    model: z.string().nullish(),
    query: text,
    documents: listField(document, { min: 1, max: maxDocuments }),
    top_n: z.int().min(1).nullish(),
    return_documents: z.boolean().nullish(),
  });
});

type RerankBody = z.output<ReturnType<typeof body>>;

/** Between 0 and 1, in the classifier's order. */
const sigmoid = (score: number): number => 1 / (1 + Math.exp(-score));

async function scoresOf(
  { query, documents }: { readonly query: string; readonly documents: readonly string[] },
  { reranker }: ServedReranker,
  { signal }: Call,
): Promise<Float32Array> {
  try {
    return await reranker.score(query, documents, { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof SeekError && error.code === "ERR_ABORTED") throw error;
    throw new Refusal("internal", "the re-ranker failed", { cause: error });
  }
}

/** Tokens that were read, counted without holding up others. */
async function tokensOf(
  { query, documents }: { readonly query: string; readonly documents: readonly string[] },
  { reranker }: ServedReranker,
): Promise<number> {
  let sum = 0;
  for (const document of documents) {
    sum += reranker.countTokens(query, document);
    await breathe();
  }
  return sum;
}

/** The best documents, best first. */
function resultsOf(scores: Float32Array, documents: readonly string[], given: RerankBody): object[] {
  const best = [...scores.keys()].sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b);
  return best.slice(0, given.top_n ?? best.length).map((index) => ({
    index,
    relevance_score: sigmoid(scores[index] as number),
    ...(given.return_documents ? { document: { text: documents[index] } } : {}),
  }));
}

/**
 * `{query, documents, top_n?, return_documents?, model?}` to the documents by their relevance.
 *
 * @param served - the re-ranker and its name
 * @param options - limits of a body, and whether it answers under every name
 */
export function rerankRoute(
  served: ServedReranker,
  { maxBodyBytes, anyName = false }: ApiLimits & { readonly anyName?: boolean | undefined },
): (call: Call) => Promise<void> {
  return async (call) => {
    const given = await call.read(body(), { maxBodyBytes });
    const { model, query } = given;
    if (model != null && model !== served.model && !anyName) {
      throw refused(["model"], `expected ${served.model}, got ${model.slice(0, 100)}`, "model_not_found");
    }
    const documents = given.documents.map((each) => (typeof each === "string" ? each : each.text));
    if (query.length * documents.length > maxPairedChars) {
      const most = Math.floor(maxPairedChars / documents.length);
      const message = `expected at most ${most} characters beside ${documents.length} documents, got ${query.length}`;
      throw refused(["query"], message);
    }
    const scores = await scoresOf({ query, documents }, served, call);
    const total_tokens = await tokensOf({ query, documents }, served);
    call.answer({
      id: newId("rerank-"),
      object: "list",
      model: served.model,
      results: resultsOf(scores, documents, given),
      usage: { prompt_tokens: total_tokens, total_tokens },
    });
  };
}
