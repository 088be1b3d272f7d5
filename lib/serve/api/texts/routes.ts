/** Routes about texts rather than replies: tokens, prompts, models. */
import type { Route } from "../../http/http-server.ts";
import type { Serving } from "../fields/serving.ts";
import { applyTemplateRoute } from "./apply-template.ts";
import { modelListRoute, modelRoute } from "./models.ts";
import { detokenizeRoute, tokenizeRoute } from "./tokenize.ts";

/**
 * What every model server answers beside replies.
 *
 * @param serving - the models
 */
export function textRoutes(serving: Serving): Route[] {
  const route =
    (method: "GET" | "POST") =>
    (path: string, handle: Route["handle"]): Route => ({ method, path, dialect: "error", handle });
  const [get, post] = [route("GET"), route("POST")];
  return [
    get("/health", (call) => call.answer({ status: "ok" })),
    get("/v1/models", modelListRoute(serving)),
    get("/v1/models/:id*", modelRoute(serving)),
    post("/tokenize", tokenizeRoute(serving)),
    post("/detokenize", detokenizeRoute(serving)),
    post("/apply-template", applyTemplateRoute(serving)),
  ];
}
