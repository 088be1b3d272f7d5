/** Opens what commands need. Everything native is loaded here, on demand: help and usage errors work without it. */
import { readdir } from "node:fs/promises";
import type { Engine, EngineOptions } from "../../../lib/engine/engine.ts";
import type { Model, ModelOptions } from "../../../lib/model/model.ts";
import type { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import type { Detokenizer } from "../../../lib/text/tokenizers/detokenizer.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";

/** A model folder and how to load it. */
interface ModelChoice extends ModelOptions {
  readonly model: string;
}

/** A model folder, how to load it, and how much its engine may hold. */
interface PolicyFolder extends ModelChoice {
  /** For keys and values. @default 1 */
  readonly cacheGib?: number;
}

/** A policy of this machine: a model with its engine and tokenizer, closed together. */
export interface LocalPolicy extends AsyncDisposable {
  readonly model: Model;
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  /** Missing when the folder has none. */
  readonly chatTemplate?: ChatTemplate;
}

/** Loads a model folder's weights. */
export async function loadModel({ model, dtype, weights, device }: ModelChoice): Promise<Model> {
  const { Model } = await import("../../../lib/model/model.ts");
  return Model.load(model, { dtype, weights, device });
}

/** Loads a folder's tokenizer. */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const { Tokenizer } = await import("../../../lib/text/tokenizers/tokenizer.ts");
  return Tokenizer.load(folder);
}

/** Loads a folder's chat template; undefined when it has none. */
export async function loadChatTemplate(folder: string): Promise<ChatTemplate | undefined> {
  const { ChatTemplate } = await import("../../../lib/text/templates/chat-template.ts");
  return ChatTemplate.load(folder);
}

/** Loads a folder's tokenizer; undefined when there is none, for commands that work on ids. */
export async function findTokenizer(folder: string): Promise<Tokenizer | undefined> {
  const files = await readdir(folder).catch(() => undefined);
  const hasOne = files?.some((file) => file === "tokenizer.json" || file.endsWith(".model")) ?? true;
  return hasOne ? loadTokenizer(folder) : undefined;
}

/** Opens an engine on a model. */
export async function openEngine(model: Model, options: EngineOptions): Promise<Engine> {
  const { Engine } = await import("../../../lib/engine/engine.ts");
  return Engine.open(model, options);
}

/** Text from ids as they come. */
export async function openDetokenizer(tokenizer: Tokenizer): Promise<Detokenizer> {
  const { Detokenizer } = await import("../../../lib/text/tokenizers/detokenizer.ts");
  return new Detokenizer(tokenizer);
}

/** Opens a model with its engine, tokenizer and chat template. */
export async function openLocalPolicy({ cacheGib = 1, ...choice }: PolicyFolder): Promise<LocalPolicy> {
  const tokenizer = await loadTokenizer(choice.model);
  const chatTemplate = await loadChatTemplate(choice.model);
  const model = await loadModel(choice);
  const engine = await openEngine(model, { tokenizer, cacheBytes: cacheGib * 2 ** 30 });
  return {
    model,
    engine,
    tokenizer,
    chatTemplate,
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      model.close();
    },
  };
}
