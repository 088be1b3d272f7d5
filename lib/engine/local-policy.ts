/** A policy of this machine: a model's weights, or an adapter on them, with engine, tokenizer and chat template. */
import { Adapter } from "../model/adapter.ts";
import type { LoraOptions } from "../model/form/lora-options.ts";
import { type LoadOptions, Model } from "../model/model.ts";
import type { Policy } from "../model/policy.ts";
import { ChatTemplate } from "../text/templates/chat-template.ts";
import { Tokenizer } from "../text/tokenizers/tokenizer.ts";
import { Engine } from "./engine.ts";
import type { EngineOptions } from "./engine-options.ts";

/** The folders of a policy, and how to load it. */
export interface PolicyChoice extends LoadOptions {
  /** A model's folder. */
  readonly model: string;
  /** Folder of an adapter on the model. */
  readonly adapter?: string | undefined;
  /** Puts a new adapter on the model, where none is loaded. @default none */
  readonly lora?: LoraOptions | undefined;
  /** Of the new adapter. @default 0 */
  readonly seed?: number | undefined;
}

/** A model, and an adapter on it where one was asked for, closed together. */
export interface LoadedPolicy extends AsyncDisposable {
  /** What generates and is trained. */
  readonly policy: Policy;
  readonly model: Model;
}

/** A policy with what an agent needs of it, closed together. */
export interface LocalPolicy extends LoadedPolicy {
  /** The model's. */
  readonly folder: string;
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  /** Missing when the folder has none. */
  readonly chatTemplate: ChatTemplate | undefined;
}

/** Loads a model's weights, and an adapter on it. */
export async function loadPolicy({
  model: folder,
  adapter: adapterFolder,
  lora,
  seed,
  ...choice
}: PolicyChoice): Promise<LoadedPolicy> {
  const { dtype, weights, device, contextTokens, tensorParallel, isDeferred } = choice;
  const form = { dtype, weights, device, contextTokens };
  const model = await Model.load(folder, { ...form, tensorParallel, isDeferred });
  try {
    const adapter =
      adapterFolder !== undefined
        ? await Adapter.load(model, adapterFolder)
        : lora && (await Adapter.create(model, { ...lora, seed }));
    return {
      ...{ model, policy: adapter ?? model },
      [Symbol.asyncDispose]: async () => {
        adapter?.close();
        model.close();
      },
    };
  } catch (error) {
    model.close();
    throw error;
  }
}

/** Opens a policy with its engine, tokenizer and chat template. */
export async function openLocalPolicy(choice: PolicyChoice, options: EngineOptions): Promise<LocalPolicy> {
  const { model: folder } = choice;
  const tokenizer = await Tokenizer.load(folder);
  const chatTemplate = await ChatTemplate.load(folder);
  const { model, policy, [Symbol.asyncDispose]: close } = await loadPolicy(choice);
  try {
    const engine = await Engine.open(policy, { ...options, tokenizer });
    return {
      ...{ folder, model, policy, engine, tokenizer, chatTemplate },
      [Symbol.asyncDispose]: async () => {
        await engine.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
