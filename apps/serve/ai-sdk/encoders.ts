/** Embedders and cross-encoders as the AI SDK asks for them. */
import type { EmbeddingModelV4, ProviderV4 } from "@ai-sdk/provider";
import { SeekError } from "../../../lib/base/errors.ts";
import type { ServedReranker } from "../api/texts/rerank.ts";
import type { ServedEmbedder } from "../retriever/options.ts";

/** A re-ranker of the AI SDK, whose package gives this type no name. */
type RerankingModel = ReturnType<NonNullable<ProviderV4["rerankingModel"]>>;

/** What the AI SDK calls this provider. */
export const providerName = "seekrl";

/**
 * An embedder. Texts are embedded as passages, or as queries where `providerOptions.seekrl.role` says "query".
 *
 * @param served - the embedder and its name
 * @throws from `doEmbed`: ERR_ARGUMENT for another width than the embedder's, and for an unknown role
 */
export function embeddingModel({ model: modelId, embedder }: ServedEmbedder): EmbeddingModelV4 {
  return {
    ...{ specificationVersion: "v4", provider: providerName, modelId },
    maxEmbeddingsPerCall: Number.POSITIVE_INFINITY,
    supportsParallelCalls: true,
    doEmbed: async ({ values, dimensions = embedder.dim, abortSignal: signal, providerOptions }) => {
      const { dim } = embedder;
      if (dimensions !== dim) {
        throw new SeekError("ERR_ARGUMENT", `${modelId}: dimensions: expected ${dim}, got ${dimensions}`);
      }
      const role = roleOf(modelId, providerOptions?.[providerName]?.role);
      const embed = role === "query" ? "embedQueries" : "embedPassages";
      const vectors = await embedder[embed](values, signal && { signal });
      const embeddings = values.map((_, i) => Array.from(vectors.subarray(i * dim, (i + 1) * dim)));
      const tokens = values.reduce((sum, text) => sum + (embedder.countTokens?.(text, role) ?? 0), 0);
      return { embeddings, warnings: [], ...(embedder.countTokens && { usage: { tokens } }) };
    },
  };
}

function roleOf(modelId: string, role: unknown = "passage"): "query" | "passage" {
  if (role === "query" || role === "passage") return role;
  throw new SeekError("ERR_ARGUMENT", `${modelId}: role: expected query or passage, got ${String(role)}`);
}

/**
 * A cross-encoder. Relevance is between 0 and 1, in the order of its scores; a document that is no text is read as JSON.
 *
 * @param served - the cross-encoder and its name
 */
export function rerankingModel({ model: modelId, reranker }: ServedReranker): RerankingModel {
  return {
    ...{ specificationVersion: "v4", provider: providerName, modelId },
    doRerank: async ({ documents, query, topN, abortSignal: signal }) => {
      const texts = documents.values.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
      const scores = await reranker.score(query, texts, signal ? { signal } : {});
      const ranking = Array.from(scores, (score, index) => ({
        index,
        relevanceScore: 1 / (1 + Math.exp(-score)),
      }));
      ranking.sort((a, b) => (scores[b.index] ?? 0) - (scores[a.index] ?? 0) || a.index - b.index);
      return { ranking: ranking.slice(0, topN) };
    },
  };
}
