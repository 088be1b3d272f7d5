/** The shipped model of the built-in world twice: here with its engine, and behind our own server. */
import type { TestContext } from "node:test";
import type { ModelServerOptions } from "../../../apps/serve/model/options.ts";
import { librarySearch } from "../../../apps/world/library.ts";
import { worldRecipe } from "../../../apps/world/recipes/world.ts";
import { createWorld } from "../../../apps/world/world.ts";
import { native } from "../../../lib/base/addon/native.ts";
import { openLocalPolicy, type PolicyChoice } from "../../../lib/engine/local-policy.ts";
import { agentPartsOf } from "../../../lib/recipes/plan.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import type { Sampling, SequenceSource } from "../../../lib/rollout/seams.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { checkpoint, servedWorld } from "../../serve/model/served.ts";

await native().setNumThreads(1);

const world = createWorld({ seed: 0, numTrain: 40, numValidation: 1, numTest: 8 });
const search = librarySearch(world.passages);

/** Of the world that the model knows. */
export const questions = world.questions.test;

/** Searches with several queries, and answers. */
export const recipe = worldRecipe({ queries: "multi" });

/** The model and its engine here. */
export async function localWorld(t: TestContext, choice: Omit<PolicyChoice, "model"> = {}) {
  const opened = await openLocalPolicy({ model: checkpoint, ...choice }, {});
  t.after(() => opened[Symbol.asyncDispose]());
  const agent = (engine: SequenceSource, sampling: Sampling = { temperature: 1 }) =>
    searchAgent({ ...agentPartsOf({ ...opened, engine }, recipe, search), sampling });
  const { engine, tokenizer, policy, model } = opened;
  return { engine, tokenizer, policy, model, agent };
}

/** The same model served, as a worker. */
export async function workerWorld(t: TestContext, server: Partial<ModelServerOptions> = {}) {
  return servedWorld(t, { server: { acceptWeights: true, ...server } });
}

/** What of a trajectory does not depend on who made it and how fast. */
export function outcome({ timings: _, worker: __, moves: ___, ...rest }: Trajectory): object {
  return rest;
}
