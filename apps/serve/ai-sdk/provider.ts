/** Served models as a provider of the AI SDK, which asks them without a server. */
import type { EmbeddingModelV4, LanguageModelV4, ProviderV4 } from "@ai-sdk/provider";
import { checkOptions, type OptionKinds } from "../../../lib/base/check-options.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import type { ServedReranker } from "../api/texts/rerank.ts";
import type { ServedModel } from "../reply/reply.ts";
import type { ServedEmbedder } from "../retriever/options.ts";
import { embeddingModel, rerankingModel } from "./encoders.ts";
import { languageModel } from "./language-model.ts";

/** What a provider has. All of it stays the caller's to close. */
export interface SeekrlProviderOptions {
  /** Language models, adapters and agents, by their names. */
  readonly models: readonly ServedModel[];
  /** Embedders, by their names. @default none */
  readonly embedders?: readonly ServedEmbedder[] | undefined;
  /** Cross-encoders, by their names. @default none */
  readonly rerankers?: readonly ServedReranker[] | undefined;
}

const kinds: OptionKinds<SeekrlProviderOptions> = { models: "list", embedders: "list", rerankers: "list" };

/** A provider of the AI SDK; called with a name, it gives a language model. */
export interface SeekrlProvider extends ProviderV4 {
  (modelId: string): LanguageModelV4;
  languageModel(modelId: string): LanguageModelV4;
  embeddingModel(modelId: string): EmbeddingModelV4;
  rerankingModel: NonNullable<ProviderV4["rerankingModel"]>;
}

/**
 * Lets the AI SDK (`ai` from version 7 on) ask models of this process: no server, no sockets, the same batches.
 *
 * A request of the SDK may hold `providerOptions: { seekrl: { maxSearches, topK, deadlineMs } }`, the budget of an agent.
 *
 * @param options - see {@link SeekrlProviderOptions}
 * @returns the provider
 * @throws ERR_ARGUMENT for an unknown option; from its functions: ERR_ARGUMENT for a name that no model has; from a model: Refusal
 *   for what cannot be asked of it
 * @example
 * const models = languageModels({ name: "small", engine, tokenizer, chatTemplate });
 * const seekrl = seekrlProvider({ models });
 * const prompt = [{ role: "user", content: [{ type: "text", text: "Hi" }] }];
 * const { content, usage } = await seekrl("small").doGenerate({ prompt, maxOutputTokens: 4 });
 * assert.ok(content.length <= 1 && usage.outputTokens.total <= 4);
 */
export function seekrlProvider(options: SeekrlProviderOptions): SeekrlProvider {
  checkOptions("seekrlProvider", options, kinds, ["models"]);
  const { models, embedders = [], rerankers = [] } = options;
  const find = (id: string): LanguageModelV4 => languageModel(named("model", models, id));
  return Object.assign(find, {
    specificationVersion: "v4" as const,
    languageModel: find,
    embeddingModel: (id: string) => embeddingModel(named("embedder", embedders, id)),
    rerankingModel: (id: string) => rerankingModel(named("reranker", rerankers, id)),
    imageModel: (id: string): never => {
      throw new SeekError("ERR_ARGUMENT", `seekrlProvider: it has no image models, and no ${id}`);
    },
  });
}

/** @throws ERR_ARGUMENT naming those there are */
function named<Model extends { readonly id: string } | { readonly model: string }>(
  what: string,
  models: readonly Model[],
  id: string,
): Model {
  const nameOf = (model: Model): string => ("id" in model ? model.id : model.model);
  const found = models.find((model) => nameOf(model) === id);
  if (found !== undefined) return found;
  const known = models.map(nameOf).join(", ") || "none";
  throw new SeekError("ERR_ARGUMENT", `seekrlProvider: ${what}: expected one of ${known}, got ${id}`);
}
