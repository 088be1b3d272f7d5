/** One mode of the demo: evaluate the start model, improve it by PPO, evaluate it again. */
import type { Question } from "../data/question.ts";
import { Engine } from "../engine/engine.ts";
import { type Evaluation, evaluate } from "../evaluate/evaluate.ts";
import { Model } from "../model/model.ts";
import type { Recipe } from "../recipes/recipe.ts";
import { worldRecipe } from "../recipes/world.ts";
import { type AgentParts, rolloutGroup, searchAgent } from "../rollout/agent.ts";
import type { Search } from "../search/search.ts";
import { ChatTemplate } from "../text/chat-template.ts";
import { copyTokenizer } from "../text/copy-tokenizer.ts";
import type { QueryMode } from "../text/observation.ts";
import { Tokenizer } from "../text/tokenizer.ts";
import { Critic } from "../train/critic.ts";
import { type RlMetrics, rl } from "../train/rl.ts";
import { schedule } from "../train/schedule.ts";
import { Trainer } from "../train/trainer.ts";
import type { World } from "../world/world.ts";

/** One after the other, as one user waits: the time per question is then RAG-R1's own measure. */
const evaluationConcurrency = 1;

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
  /** @default the recipe's */
  readonly steps?: number;
  /** @default all test questions */
  readonly numTest?: number;
  /** @default "cpu" */
  readonly device?: string;
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
  const { start, world, seed, numTest, device = "cpu" } = options;
  const questions = world.questions.test.slice(0, numTest);
  const tokenizer = await Tokenizer.load(start);
  const chatTemplate = await ChatTemplate.load(start);
  await using model = await Model.load(start, { device });
  await using engine = await Engine.open(model, { tokenizer, seed });
  const recipe = worldRecipe({ queries: options.mode });
  const parts: AgentParts = {
    ...{ engine, tokenizer, search: options.search, ...recipe },
    ...(chatTemplate ? { chatTemplate } : {}),
  };
  const before = await evaluateGreedily("before", questions, parts, options);
  await train(model, parts, recipe, options);
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
  const concurrency = evaluationConcurrency;
  const result = await evaluate({ questions, agent, seed, concurrency, ...(signal ? { signal } : {}) });
  onEvaluation?.(moment, result);
  return result;
}

async function train(
  model: Model,
  parts: AgentParts,
  { algorithm, training, reward }: Recipe,
  options: ReinforceOptions,
): Promise<void> {
  const { world, seed, folder, start, steps = training.steps, onStep, signal } = options;
  const { weightDecay, batchQuestions, samples, learningRate, warmupSteps, decay } = training;
  await using trainer = await Trainer.open(model, { weightDecay });
  await using critic = await Critic.open(model, { weightDecay });
  await using reference = await model.clone();
  await rl({
    learners: { trainer, critic, reference },
    task: {
      questions: world.questions.train,
      rollout: (question, how) => rolloutGroup(parts, question, how),
      reward,
    },
    algorithm,
    batch: { questions: batchQuestions, samples },
    steps,
    seed,
    learningRate: {
      policy: schedule({ peak: learningRate, warmupSteps, decay, steps }),
      critic: schedule({ peak: training.criticLearningRate, warmupSteps: training.criticWarmupSteps }),
    },
    run: { folder, checkpointEvery: 0, onCheckpoint: (to) => copyTokenizer(start, to) },
    ...(onStep ? { onStep } : {}),
    ...(signal ? { signal } : {}),
  });
}
