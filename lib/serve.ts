/** `seekrl/serve`: searches and rewards over HTTP. */

export type { AccessOptions } from "./serve/http/access.ts";
export type { HttpServer, ServeFault, ServeOptions } from "./serve/http/http-server.ts";
export type { RetrieverLimits, RetrieverOptions, ServedEmbedder } from "./serve/retriever/options.ts";
export type { ContentsForm } from "./serve/retriever/protocols/contents.ts";
export { type RetrieverServer, serveRetriever } from "./serve/retriever/retriever-server.ts";
export { type RewardServerOptions, serveRewards } from "./serve/reward-server.ts";
