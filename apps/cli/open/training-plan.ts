/** Options of `seekrl train`, and the training that they describe. */

import { z } from "zod";
import { remoteReward } from "../../../connectors/reward/remote-reward.ts";
import type { ProcessGroup } from "../../../lib/comm/process-group.ts";
import type { Question } from "../../../lib/data/question.ts";
import { evaluate } from "../../../lib/evaluate/evaluate.ts";
import { trainingOf } from "../../../lib/recipes/plan.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { Reward } from "../../../lib/reward/reward.ts";
import type { Agent, PolicyAgent } from "../../../lib/rollout/agents/agent.ts";
import { type AgentParts, searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { countSchedule } from "../../../lib/train/algorithm/schedule.ts";
import type { Collapse } from "../../../lib/train/collapse.ts";
import type { RlMetrics, RlOptions } from "../../../lib/train/rl-options.ts";
import type { RankRoles } from "../../../lib/train/roles/rank-roles.ts";
import type { BestOptions, RunOptions } from "../../../lib/train/run/run-options.ts";
import { baselineAgent, baselineNames } from "../../baselines/baselines.ts";
import { type CommandIo, UsageError } from "../command.ts";
import { dataFile, inGroup } from "../fields.ts";
import { agentOptions } from "../options/agent-options.ts";
import { engineOptions, modelOptions } from "../options/model-options.ts";
import { activationOptions, runOptions, sharingOptions } from "../options/run-options.ts";
import { resolvedOptions, trainingOptions, withoutSharedWarmups } from "../options/training-options.ts";
import { Pace } from "../report/pace.ts";
import { stepLine, TrainingWarnings } from "../report/training-report.ts";
import { judgeRewardOptions } from "./judge-rewards.ts";
import { copyBeside } from "./local-policy.ts";
import { loadMixed } from "./question-sets.ts";
import { runFolderOf } from "./run-folder.ts";

/** Options of `seekrl train`. */
export const trainOptions = z.strictObject({
  ...modelOptions,
  ...engineOptions,
  ...inGroup("Questions", {
    questions: dataFile(
      z.array(z.string()).min(1).describe("JSON Lines of {id, question, answers}; several are mixed."),
    ),
  }),
  ...agentOptions,
  ...runOptions,
  ...activationOptions,
  ...sharingOptions,
  ...trainingOptions,
  ...inGroup("Training; what is not given is the recipe's", {
    staleness: z
      .int()
      .min(0)
      .default(0)
      .describe(
        "Steps that rollouts may begin before their own: those of the next ones go on while a step is computed.",
      ),
  }),
  ...judgeRewardOptions,
  ...inGroup("Agent", {
    baseline: z
      .enum(baselineNames)
      .optional()
      .describe("Trains a plain way to answer instead: direct and cot without search, rag with one search."),
  }),
  ...inGroup("Rewards", {
    rewardUrl: z
      .string()
      .optional()
      .describe("Server that scores conversations (POST /get_reward) in place of the recipe's reward."),
    rewardKeyEnv: z.string().optional().describe("Environment variable with that server's API key."),
  }),
  ...inGroup("Evaluation", {
    evalFirst: z.boolean().default(false).describe("Evaluates before the first step too."),
    evalQuestions: dataFile(z.array(z.string()).min(1).optional().describe("Evaluates on these, greedily.")),
    evalEvery: z.int().min(1).default(50).describe("Steps between evaluations."),
  }),
  ...inGroup("Run", {
    logTokens: z
      .boolean()
      .default(true)
      .describe("Leaves out of trajectories.jsonl what each token is and was worth; texts and figures stay."),
    onCollapse: z
      .enum(["stop", "rollback", "ignore"])
      .default("stop")
      .describe(
        "When reward, entropy, length, valid turns or log-probabilities collapse: stop with an error, or go back to the best checkpoint and end.",
      ),
    studio: z
      .boolean()
      .default(false)
      .describe("Serves a page that shows the run while it trains, on this machine."),
    dryRun: z
      .boolean()
      .default(false)
      .describe(
        "Checks everything and tells the plan, with the time of a step as measured; nothing is trained or written.",
      ),
  }),
});

/** What they say. */
export type TrainOptions = z.output<typeof trainOptions>;

/** What a plan is made with. */
export interface PlanContext {
  readonly io: CommandIo;
  /** The ranks that evaluate together; undefined for one process. */
  readonly processGroup: ProcessGroup | undefined;
  readonly roles: RankRoles | undefined;
  /** How the ranks share the work; undefined for one process. */
  readonly layoutLine: string | undefined;
  readonly last: { metrics?: RlMetrics };
}

/** The agent that is trained. */
export function agentOf({ baseline }: Pick<TrainOptions, "baseline">, parts: AgentParts): PolicyAgent {
  return baseline === undefined ? searchAgent(parts) : baselineAgent(parts, baseline);
}

/** A training as the options say: task, batch, run folder, evaluation, reports. A rank that only generates has no folder. */
export async function planTraining(
  given: TrainOptions,
  recipe: Recipe,
  parts: AgentParts,
  { io, processGroup, roles, layoutLine, last }: PlanContext,
): Promise<Omit<RlOptions, "learners">> {
  const { steps, samples } = recipe.training;
  const [pace, warnings] = [new Pace(), new TrainingWarnings()];
  const planned = trainingOf(recipe, parts, await loadMixed(given.questions));
  const agent = agentOf(given, parts);
  return {
    ...{ ...planned, roles, seed: given.seed, signal: io.signal },
    task: {
      ...{ ...planned.task, rollout: agent.rollouts, reward: rewardServer(given) ?? planned.task.reward },
      onRewardFailure: onceAStep(io, last),
    },
    batch: {
      ...planned.batch,
      samples: countSchedule({ from: samples, to: given.samplesAtEnd ?? samples, steps }),
      maxTokens: given.microBatchTokens,
      staleness: given.staleness,
    },
    run: roles?.isRollout ? undefined : { ...(await planRun(given, recipe)), layoutLine },
    evaluation: await planEvaluation(given, agent, { io, processGroup }),
    collapse: planCollapse(given, io),
    onStep: (metrics, trajectories) => {
      last.metrics = metrics;
      for (const warning of warnings.of(metrics, trajectories)) io.log(`step ${metrics.step}: ${warning}`);
      io.log(stepLine(metrics, steps, pace.at(metrics.step, steps)?.secondsLeft));
    },
  };
}

async function planRun(given: TrainOptions, recipe: Recipe): Promise<RunOptions> {
  const resolved = resolvedOptions(given, recipe);
  const onCheckpoint = (to: string): Promise<void> => copyBeside(given, to, given.recipe);
  const folder = await runFolderOf(resolved, withoutSharedWarmups(resolved));
  return { ...folder, best: bestOf(given), onCheckpoint };
}

/** The step that evaluated best stays; without evaluations a rollback goes to the one that earned most. */
function bestOf({ evalQuestions, onCollapse }: TrainOptions): BestOptions | undefined {
  if (evalQuestions !== undefined) return { metric: "eval/em" };
  return onCollapse === "rollback" ? { metric: "reward/total" } : undefined;
}

function rewardServer({ rewardUrl: url, rewardKeyEnv: apiKeyEnv }: TrainOptions): Reward | undefined {
  if (url === undefined && apiKeyEnv !== undefined) {
    throw new UsageError("--reward-key-env: expected only with --reward-url");
  }
  return url === undefined ? undefined : remoteReward({ url, apiKeyEnv });
}

function planCollapse({ onCollapse: action }: TrainOptions, io: CommandIo): RlOptions["collapse"] {
  const onRollback = ({ message }: Collapse, step: number): void =>
    io.log(`collapsed: ${message}; the weights are those of step ${step} again`);
  return { action, onRollback };
}

/** A reward that fails does so at many trajectories of a step; the first says why, a warning how many there were. */
function onceAStep(io: CommandIo, last: PlanContext["last"]): (reason: string) => void {
  let told = -1;
  return (reason) => {
    const { step = 0 } = last.metrics ?? {};
    if (told === step) return;
    told = step;
    io.log(`not rewarded: ${reason}`);
  };
}

async function planEvaluation(
  { evalQuestions, evalEvery, evalFirst: isFirst, seed }: TrainOptions,
  policy: Agent,
  { io: { signal, log }, processGroup }: Pick<PlanContext, "io" | "processGroup">,
): Promise<RlOptions["evaluation"]> {
  if (evalQuestions === undefined) return undefined;
  const questions = await loadMixed(evalQuestions);
  const agent: Agent = (question, how) => policy(question, { ...how, sampling: { temperature: 0 } });
  return {
    every: evalEvery,
    isFirst,
    evaluate: async (step) => {
      const evaluation = await evaluate({ questions, agent, seed, signal, processGroup });
      const { em, f1, rounds, secondsPerQuestion, perQuestion } = evaluation;
      // Every other evaluation stands in its step's line.
      if (step === 0) log(`before     EM ${(100 * em).toFixed(1)} of ${questions.length} questions`);
      return {
        "eval/em": em,
        "eval/f1": f1,
        "eval/rounds": rounds,
        "eval/seconds_per_question": secondsPerQuestion,
        ...emBySource(questions, perQuestion),
      };
    },
  };
}

/** Exact match of each data set, where the questions come from several. */
function emBySource(
  questions: readonly Question[],
  results: readonly { readonly em: number }[],
): Record<string, number> {
  const sources = [...new Set(questions.map(({ source }) => source))];
  if (sources.length < 2) return {};
  return Object.fromEntries(
    sources.map((source) => {
      const own = results.filter((_, i) => questions[i]?.source === source);
      return [`eval/em/${source ?? "other"}`, own.reduce((sum, { em }) => sum + em, 0) / own.length];
    }),
  );
}
