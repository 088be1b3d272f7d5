/** One mode of the demo: evaluate the start model, improve it by PPO, evaluate it again. */
import type { Question } from "../data/question.ts";
import { Engine } from "../engine/engine.ts";
import { type Evaluation, evaluate } from "../evaluate/evaluate.ts";
import { Model } from "../model/model.ts";
import { worldRecipe } from "../recipes/world.ts";
import { type AgentParts, rolloutGroup, searchAgent } from "../rollout/agent.ts";
import type { Search } from "../search/search.ts";
import { ChatTemplate } from "../text/chat-template.ts";
import { copyTokenizer } from "../text/copy-tokenizer.ts";
import type { QueryMode } from "../text/observation.ts";
import { Tokenizer } from "../text/tokenizer.ts";
import type { Algorithm } from "../train/algorithm.ts";
import { Critic } from "../train/critic.ts";
import { type RlMetrics, rl } from "../train/rl.ts";
import { schedule } from "../train/schedule.ts";
import { Trainer } from "../train/trainer.ts";
import type { World } from "../world/world.ts";

/** PPO as the demo runs it; RAG-R1's settings with rates for a model of a million weights. */
export const worldPpo = {
  steps: 60,
  questions: 64,
  samples: 2,
  policyRate: 3e-4,
  criticRate: 1e-3,
  algorithm: {
    advantage: "gae",
    kl: { in: "reward", estimator: "k1", coef: 0.001 },
    entropyCoef: 0.001,
    miniBatches: 2,
  } satisfies Algorithm,
} as const;

/** What one mode needs. */
export interface ReinforceOptions {
  readonly mode: QueryMode;
  /** The start model's folder. */
  readonly start: string;
  /** Where the run's logs and the final model go. */
  readonly folder: string;
  readonly world: World;
  readonly search: Search;
  readonly seed: number;
  /** @default worldPpo.steps */
  readonly steps?: number;
  /** @default all test questions */
  readonly numTest?: number;
  readonly onStep?: (metrics: RlMetrics) => void;
  readonly onEvaluation?: (moment: "before" | "after", result: Evaluation) => void;
  readonly signal?: AbortSignal;
}

/** The same questions before and after. */
export interface ModeResult {
  readonly before: Evaluation;
  readonly after: Evaluation;
}

/**
 * Trains a copy of the start model on the world's training questions.
 *
 * @param options - mode, folders, world, search
 * @returns greedy evaluations on held-out questions
 * @throws ERR_ABORTED when the signal fires
 */
export async function reinforce(options: ReinforceOptions): Promise<ModeResult> {
  const { start, world, seed, numTest } = options;
  const questions = world.questions.test.slice(0, numTest);
  const tokenizer = await Tokenizer.load(start);
  const chatTemplate = await ChatTemplate.load(start);
  await using model = await Model.load(start);
  await using engine = await Engine.open(model, { tokenizer, seed });
  const { format, limits, sampling } = worldRecipe({ queries: options.mode });
  const parts: AgentParts = {
    ...{ engine, tokenizer, search: options.search, format, limits, sampling },
    ...(chatTemplate ? { chatTemplate } : {}),
  };
  const before = await evaluateGreedily("before", questions, parts, options);
  await train(model, parts, options);
  const after = await evaluateGreedily("after", questions, parts, options);
  return { before, after };
}

async function evaluateGreedily(
  moment: "before" | "after",
  questions: readonly Question[],
  parts: AgentParts,
  { seed, signal, onEvaluation }: ReinforceOptions,
): Promise<Evaluation> {
  const agent = searchAgent({ ...parts, sampling: { temperature: 0 } });
  const result = await evaluate({ questions, agent, seed, ...(signal ? { signal } : {}) });
  onEvaluation?.(moment, result);
  return result;
}

async function train(model: Model, parts: AgentParts, options: ReinforceOptions): Promise<void> {
  const { world, seed, folder, steps = worldPpo.steps, onStep, signal } = options;
  const { reward } = worldRecipe({ queries: options.mode });
  await using trainer = await Trainer.open(model, { weightDecay: 0 });
  await using critic = await Critic.open(model, { weightDecay: 0 });
  await using reference = await model.clone();
  await rl({
    learners: { trainer, critic, reference },
    task: {
      questions: world.questions.train,
      rollout: (question, how) => rolloutGroup(parts, question, how),
      reward,
    },
    algorithm: worldPpo.algorithm,
    batch: { questions: worldPpo.questions, samples: worldPpo.samples },
    steps,
    seed,
    learningRate: {
      policy: schedule({ peak: worldPpo.policyRate, warmupSteps: 5 }),
      critic: schedule({ peak: worldPpo.criticRate }),
    },
    run: { folder, checkpointEvery: 0, onCheckpoint: (to) => copyTokenizer(options.start, to) },
    ...(onStep ? { onStep } : {}),
    ...(signal ? { signal } : {}),
  });
}
