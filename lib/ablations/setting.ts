/** What a mode's variants have in common: world, search, folders; and models opened to play in it. */
import { Engine } from "../engine/engine.ts";
import { Model } from "../model/model.ts";
import { worldRecipe } from "../recipes/world.ts";
import type { AgentParts } from "../rollout/agent.ts";
import type { Search } from "../search/search.ts";
import { ChatTemplate } from "../text/chat-template.ts";
import type { QueryMode } from "../text/observation.ts";
import { Tokenizer } from "../text/tokenizer.ts";
import type { World } from "../world/world.ts";

/** How much is asked and trained. */
export interface Sizes {
  /** Questions of training. */
  readonly numTrain: number;
  /** Held-out questions. */
  readonly numTest: number;
  /** Of reinforcement learning. */
  readonly rlSteps: number;
}

/** One mode under one seed. */
export interface Setting {
  readonly mode: QueryMode;
  readonly seed: number;
  readonly world: World;
  readonly search: Search;
  readonly sizes: Sizes;
  /** Of this mode and seed. */
  readonly folder: string;
  /** Folder of the model without manners. */
  readonly base: string;
  /** Folder of the model whose right answers are learnt from. */
  readonly teacher: string;
  readonly device: string;
  readonly onLine: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** A model that can play and be trained. */
export interface OpenedPlayer extends AsyncDisposable {
  readonly model: Model;
  readonly parts: AgentParts;
}

/** Opens a model folder as an agent of the world. */
export async function openPlayer(
  folder: string,
  { mode, seed, search, device }: Pick<Setting, "mode" | "seed" | "search" | "device">,
): Promise<OpenedPlayer> {
  const tokenizer = await Tokenizer.load(folder);
  const chatTemplate = await ChatTemplate.load(folder);
  const model = await Model.load(folder, { device });
  const engine = await Engine.open(model, { tokenizer, seed });
  const { format, limits, sampling } = worldRecipe({ queries: mode });
  return {
    model,
    parts: { engine, tokenizer, chatTemplate, search, format, limits, sampling },
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      model.close();
    },
  };
}
