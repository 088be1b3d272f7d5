/** `seekrl/serve`: models, searches and rewards over HTTP. */

export { agentModel } from "./serve/agent/agent-model.ts";
export type { AgentModelParts } from "./serve/agent/parts.ts";
export type { ServedReranker } from "./serve/api/texts/rerank.ts";
export type { TextEncoders } from "./serve/api/texts/routes.ts";
export type { AccessOptions } from "./serve/http/access/access.ts";
export type { HttpServer, ServeFault, ServeOptions } from "./serve/http/http-server.ts";
export type { CanaryOptions } from "./serve/learn/canary.ts";
export { LearningModel } from "./serve/learn/learning-model.ts";
export type { LearnEvent, LearnOptions } from "./serve/learn/options.ts";
export type { RecordedChoice } from "./serve/learn/record.ts";
export type { RecordOptions } from "./serve/learn/recorder.ts";
export { serveModels } from "./serve/model/model-server.ts";
export { type LanguageModelOptions, languageModels } from "./serve/model/open-models.ts";
export type { ModelLimits, ModelServerOptions } from "./serve/model/options.ts";
export type {
  AgentBudget,
  ChoiceEnd,
  Conversation,
  FinishReason,
  FoundPassage,
  FunctionDefinition,
  ModelText,
  PromptIdsOptions,
  PromptOptions,
  ReplyEvent,
  ReplyRequest,
  SampleRequest,
  ServedModel,
  ToolChoice,
} from "./serve/reply/reply.ts";
export type { LikelyToken, SampledToken, TextPiece } from "./serve/reply/tokens.ts";
export type { RetrieverLimits, RetrieverOptions, ServedEmbedder } from "./serve/retriever/options.ts";
export type { ContentsForm } from "./serve/retriever/protocols/contents.ts";
export { type RetrieverServer, serveRetriever } from "./serve/retriever/retriever-server.ts";
export { type RewardServerOptions, serveRewards } from "./serve/reward-server.ts";
