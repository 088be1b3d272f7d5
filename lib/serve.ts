/** `seekrl/serve`: searches and rewards over HTTP. */

export type { RetrieverLimits, RetrieverOptions, ServedEmbedder, ServeFault } from "./serve/options.ts";
export type { ContentsForm } from "./serve/protocols/contents.ts";
export { type RetrieverServer, serveRetriever } from "./serve/retriever-server.ts";
export { type RewardServer, type RewardServerOptions, serveRewards } from "./serve/reward-server.ts";
