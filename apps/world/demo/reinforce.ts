/** Reinforcement learning on the world: by one recipe, evaluated on held-out questions around it, or by two, mixed. */

import { resolve } from "node:path";
import type { Question } from "../../../lib/data/question.ts";
import type { LocalPolicy } from "../../../lib/engine/local-policy.ts";
import { agentPartsOf, trainingOf } from "../../../lib/recipes/plan.ts";
import { optimiserOf, type Recipe, recipeTotalReward } from "../../../lib/recipes/recipe.ts";
import { type AgentParts, searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import type { Search } from "../../../lib/search/search.ts";
import { copyTokenizer } from "../../../lib/text/tokenizers/copy-tokenizer.ts";
import { openLearners } from "../../../lib/train/open-learners.ts";
import { rl } from "../../../lib/train/rl.ts";
import type { RlMetrics, RlOptions, SampleRollouts } from "../../../lib/train/rl-options.ts";
import type { World } from "../world.ts";
import { type WorldSetting, writeWorldFile } from "../world-file.ts";
import { evaluateHeldOut, type HeldOut, loggedFigures } from "./held-out.ts";

/** What a training needs. */
interface TrainOptions {
  readonly recipe: Recipe;
  /** How the agent asks and what it reads for every other training question, such as by another search. @default as by `recipe` */
  readonly other?: Recipe;
  /** Where the run's logs and checkpoints go. */
  readonly folder: string;
  readonly world: World;
  readonly search: Search;
  readonly seed: number;
  /** What the checkpoints say of the world they belong to. */
  readonly worldSetting: WorldSetting;
  /** Steps between evaluations on the validation questions, for the log. @default none */
  readonly evaluateEvery?: number;
  /** Ends the training before its last step. @default never */
  readonly endWhen?: RlOptions["endWhen"];
  readonly onStep?: (metrics: RlMetrics) => void;
  readonly signal?: AbortSignal | undefined;
}

/** What a training between two evaluations needs. */
interface ReinforceOptions extends TrainOptions {
  /** @default all test questions */
  readonly numTest?: number | undefined;
  readonly onEvaluation?: (moment: "before" | "after", result: HeldOut) => void;
}

/** The same questions before and after. */
export interface BeforeAfter<Result> {
  readonly before: Result;
  readonly after: Result;
}

/**
 * Trains a model on the world's training questions. A run that was killed goes on in its folder.
 *
 * @param local - the model; it keeps the weights it ends with
 * @param options - recipe, folder, world, search
 * @returns greedy evaluations on held-out questions
 * @throws ERR_ABORTED when the signal fires
 */
export async function reinforce(
  local: LocalPolicy,
  options: ReinforceOptions,
): Promise<BeforeAfter<HeldOut>> {
  const { recipe, world, search, numTest, onEvaluation } = options;
  const questions = world.questions.test.slice(0, numTest);
  const parts = agentPartsOf(local, recipe, search);
  const evaluated = async (moment: "before" | "after"): Promise<HeldOut> => {
    const result = await evaluateWith(questions, parts, options);
    onEvaluation?.(moment, result);
    return result;
  };
  const before = await evaluated("before");
  await trainOnWorld(local, options);
  return { before, after: await evaluated("after") };
}

function evaluateWith(
  questions: readonly Question[],
  parts: AgentParts,
  { recipe, seed, signal }: TrainOptions,
): Promise<HeldOut> {
  const reward = recipeTotalReward(recipe, parts.tokenizer);
  return evaluateHeldOut(questions, parts, { reward, seed, signal });
}

/** Trains a model without evaluating it around. A run that was killed goes on in its folder. @throws ERR_ABORTED */
export async function trainOnWorld(local: LocalPolicy, options: TrainOptions): Promise<void> {
  const { recipe, other, world, search, seed, endWhen, onStep, signal } = options;
  const questions = world.questions.train;
  const parts = agentPartsOf(local, recipe, search);
  const { task, ...training } = trainingOf(recipe, parts, questions);
  const byOther = other && searchAgent(agentPartsOf(local, other, search)).rollouts;
  const rollout = byOther ? byTurns(questions, [task.rollout, byOther]) : task.rollout;
  await using opened = await openLearners(local.policy, recipe.algorithm, optimiserOf(recipe.training));
  await rl({
    ...{ ...training, task: { ...task, rollout } },
    ...{ learners: opened.learners, seed },
    ...planRun(local, parts, options),
    endWhen,
    onStep,
    signal,
  });
}

/** Each question by one of two agents, the same one whenever it is asked. */
function byTurns(
  questions: readonly Question[],
  agents: readonly [SampleRollouts, SampleRollouts],
): SampleRollouts {
  const isOdd = new Map(questions.map(({ id }, i) => [id, i % 2 === 1]));
  return (question, how) => agents[isOdd.get(question.id) ? 1 : 0](question, how);
}

/** Checkpoints are small and written often: what a kill costs are seconds. */
const checkpointEvery = 10;

function planRun(
  local: LocalPolicy,
  parts: AgentParts,
  options: TrainOptions,
): Pick<RlOptions, "run" | "evaluation"> {
  const { folder, world, worldSetting, evaluateEvery, recipe, seed } = options;
  const { validation } = world.questions;
  const onCheckpoint = async (to: string): Promise<void> => {
    await copyTokenizer(local.folder, to);
    await writeWorldFile(to, worldSetting);
  };
  const { steps, ...training } = recipe.training;
  const { algorithm, limits, sampling } = recipe;
  const config = {
    ...{ model: resolve(local.folder), steps, seed, world: worldSetting },
    ...{ training, algorithm, limits, sampling },
  };
  const run = { folder, checkpointEvery, keep: 1, onCheckpoint, config };
  if (evaluateEvery === undefined) return { run };
  const evaluate = async () => loggedFigures(await evaluateWith(validation, parts, options));
  return { run, evaluation: { every: evaluateEvery, evaluate } };
}
