/** A model that plays: its weights with engine, tokenizer and chat template, closed together. */
import { Engine } from "../engine/engine.ts";
import { Model } from "../model/model.ts";
import type { Recipe } from "../recipes/recipe.ts";
import type { AgentParts } from "../rollout/agent.ts";
import type { Search } from "../search/search.ts";
import { ChatTemplate } from "../text/chat-template.ts";
import { Tokenizer } from "../text/tokenizer.ts";

/** An opened model folder. */
export interface Player extends AsyncDisposable {
  readonly folder: string;
  readonly model: Model;
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate | undefined;
}

/** Opens a model folder; `seed` is the engine's. */
export async function openPlayer(
  folder: string,
  { seed, device }: { readonly seed: number; readonly device: string },
): Promise<Player> {
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

/** The player as an agent of a recipe. */
export function partsOf(
  { engine, tokenizer, chatTemplate }: Player,
  recipe: Recipe,
  search: Search,
): AgentParts {
  const { format, limits, sampling } = recipe;
  const through = recipe.searchThrough?.(search) ?? search;
  return { engine, tokenizer, search: through, format, limits, sampling, chatTemplate };
}
