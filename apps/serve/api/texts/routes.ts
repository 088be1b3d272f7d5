/** Routes about texts rather than replies: tokens, prompts, models. */
import type { Route } from "../../http/http-server.ts";
import { absent } from "../../http/refusal.ts";
import type { ServedEmbedder } from "../../retriever/options.ts";
import type { Serving } from "../fields/serving.ts";
import { applyTemplateRoute } from "./conversation.ts";
import { servedEmbeddings } from "./embeddings.ts";
import { modelListRoute, modelRoute } from "./models.ts";
import { rerankRoute, type ServedReranker } from "./rerank.ts";
import { detokenizeRoute, tokenizeRoute } from "./tokenize.ts";

/** What is served beside models. */
export interface TextEncoders {
  /** An encoder, for `/v1/embeddings`. */
  readonly embedding?: ServedEmbedder | undefined;
  /** A re-ranker, for `/v1/rerank`. */
  readonly reranker?: ServedReranker | undefined;
  /** Whether each answers under every name too. @default false */
  readonly anyName?: boolean | undefined;
}

/**
 * What every model server answers beside replies.
 *
 * @param serving - the models
 * @param encoders - what embeds and re-ranks
 */
export function textRoutes(serving: Serving, { embedding, reranker, anyName }: TextEncoders = {}): Route[] {
  const route =
    (method: "GET" | "POST") =>
    (path: string, handle: Route["handle"]): Route => ({ method, path, dialect: "error", handle });
  const options = { ...serving.limits, anyName };
  const [get, post] = [route("GET"), route("POST")];
  return [
    get("/health", (call) => call.answer({ status: "ok" })),
    get("/v1/models", modelListRoute(serving)),
    get("/v1/models/:id*", modelRoute(serving)),
    post("/tokenize", tokenizeRoute(serving)),
    post("/detokenize", detokenizeRoute(serving)),
    post("/apply-template", applyTemplateRoute(serving)),
    post(
      "/v1/embeddings",
      embedding ? servedEmbeddings(embedding, options) : absent("/v1/embeddings", "--encoder"),
    ),
    ...["/v1/rerank", "/rerank"].map((path) =>
      post(path, reranker ? rerankRoute(reranker, options) : absent(path, "--cross-encoder")),
    ),
  ];
}
