/** What a mode's variants have in common: world, search, folders; and policies opened in it. */

import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import type { Model } from "../../../lib/model/model.ts";
import { agentPartsOf } from "../../../lib/recipes/plan.ts";
import type { AgentParts } from "../../../lib/rollout/agents/search-agent.ts";
import type { Search } from "../../../lib/search/search.ts";
import type { QueryMode } from "../../../lib/text/observation.ts";
import { worldRecipe } from "../recipes/world.ts";
import type { World } from "../world.ts";

/** How much is asked and trained. */
export interface Sizes {
  /** Questions of training. */
  readonly numTrain: number;
  /** Held-out questions. */
  readonly numTest: number;
  /** Of those, asked again one at a time for the time without batching. */
  readonly numAlone: number;
  /** Of reinforcement learning. */
  readonly rlSteps: number;
  /** Questions of a step, each with the recipe's number of samples. */
  readonly batchQuestions: number;
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
  /** Folder of the model before format learning. */
  readonly base: string;
  /** Folder of the model whose right answers are learnt from. */
  readonly teacher: string;
  readonly device: string;
  readonly onLine: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** A policy and the parts of its agent. */
export interface OpenedAgent extends AsyncDisposable {
  readonly model: Model;
  readonly parts: AgentParts;
}

/** Opens a model folder as an agent of the world. */
export async function openAgent(folder: string, setting: Setting): Promise<OpenedAgent> {
  const { mode, search, seed, device } = setting;
  const policy = await openLocalPolicy({ model: folder, device }, { seed });
  return {
    model: policy.model,
    parts: agentPartsOf(policy, worldRecipe({ queries: mode }), search),
    [Symbol.asyncDispose]: () => policy[Symbol.asyncDispose](),
  };
}
