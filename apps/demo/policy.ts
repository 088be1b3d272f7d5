/** A policy: a model's weights, or an adapter on them, with engine, tokenizer and chat template, closed together. */
import { Engine } from "../../lib/engine/engine.ts";
import { Adapter, type LoraOptions } from "../../lib/model/adapter.ts";
import { Model } from "../../lib/model/model.ts";
import type { Policy as Weights } from "../../lib/model/policy.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";

/** An opened model folder. */
export interface Policy extends AsyncDisposable {
  readonly folder: string;
  readonly model: Model;
  /** What is trained. */
  readonly weights: Weights;
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate | undefined;
}

/** How a model folder is opened. */
export interface OpenPolicyOptions {
  /** Of the engine, and of a new adapter. */
  readonly seed: number;
  readonly device: string;
  /** Puts a new adapter on the model. @default none */
  readonly lora?: LoraOptions | undefined;
}

/** Opens a model folder. */
export async function openPolicy(folder: string, { seed, device, lora }: OpenPolicyOptions): Promise<Policy> {
  const tokenizer = await Tokenizer.load(folder);
  const chatTemplate = await ChatTemplate.load(folder);
  const model = await Model.load(folder, { device });
  const adapter = lora && (await Adapter.create(model, { ...lora, seed }));
  const weights = adapter ?? model;
  const engine = await Engine.open(weights, { tokenizer, seed });
  return {
    ...{ folder, model, weights, engine, tokenizer, chatTemplate },
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      adapter?.close();
      model.close();
    },
  };
}
