/** A policy: a model's weights with engine, tokenizer and chat template, closed together. */
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";

/** An opened model folder. */
export interface Policy extends AsyncDisposable {
  readonly folder: string;
  readonly model: Model;
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate | undefined;
}

/** Opens a model folder; `seed` is the engine's. */
export async function openPolicy(
  folder: string,
  { seed, device }: { readonly seed: number; readonly device: string },
): Promise<Policy> {
  const tokenizer = await Tokenizer.load(folder);
  const chatTemplate = await ChatTemplate.load(folder);
  const model = await Model.load(folder, { device });
  const engine = await Engine.open(model, { tokenizer, seed });
  return {
    ...{ folder, model, engine, tokenizer, chatTemplate },
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      model.close();
    },
  };
}
