/** A training of the built-in world's model over a retriever that fails on command. */
import { join } from "node:path";
import { worldRecipe } from "../../../apps/world/recipes/world.ts";
import type { World } from "../../../apps/world/world.ts";
import { packageRoot } from "../../../lib/base/package-root.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { Model } from "../../../lib/model/model.ts";
import { type AgentParts, searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import type { Search } from "../../../lib/search/search.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { schedule } from "../../../lib/train/algorithm/schedule.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { rl } from "../../../lib/train/rl.ts";
import type { RlMetrics } from "../../../lib/train/rl-options.ts";

export const recipe = worldRecipe({ queries: "multi" });

interface Outcome {
  readonly steps: RlMetrics[];
  readonly trajectories: Trajectory[];
}

export interface Course {
  readonly steps: number;
  readonly search: Search;
  /** @default 20 s, longer than any search here */
  readonly searchTimeoutMs?: number;
  readonly onStep?: (step: number) => Promise<void>;
}

/** Steps on 8 questions, 4 rollouts each. */
export async function train(world: World, folder: string, course: Course): Promise<Outcome> {
  const { steps, search, searchTimeoutMs = 20_000, onStep } = course;
  const start = join(packageRoot, "world", "checkpoint");
  const tokenizer = await Tokenizer.load(start);
  await using model = await Model.load(start);
  await using engine = await Engine.open(model, { tokenizer });
  await using trainer = await Trainer.open(model);
  const limits = { ...recipe.limits, searchTimeoutMs };
  const parts: AgentParts = { engine, tokenizer, search, ...recipe, limits };
  const outcome: Outcome = { steps: [], trajectories: [] };
  await rl({
    learners: { trainer },
    task: {
      questions: world.questions.train,
      reward: recipe.reward,
      rollout: (question, how) => searchAgent(parts).rollouts(question, how),
    },
    algorithm: algorithms.rloo,
    batch: { questions: 8, samples: 4 },
    steps,
    learningRate: { policy: schedule({ peak: 1e-4 }) },
    run: { folder, checkpointEvery: 0 },
    onStep: async (metrics, trajectories) => {
      outcome.steps.push(metrics);
      outcome.trajectories.push(...trajectories);
      await onStep?.(metrics.step);
    },
  });
  return outcome;
}
