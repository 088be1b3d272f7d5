/** `seekrl train`: reinforcement learning of a search agent. */
import { join } from "node:path";
import { z } from "zod";
import type { Question } from "../../../../lib/data/question.ts";
import { evaluate } from "../../../../lib/evaluate/evaluate.ts";
import { agentPartsOf, trainingOf } from "../../../../lib/recipes/plan.ts";
import type { Recipe } from "../../../../lib/recipes/recipe.ts";
import { remoteReward } from "../../../../lib/reward/remote-reward.ts";
import type { Reward } from "../../../../lib/reward/reward.ts";
import { type Agent, type AgentParts, searchAgent } from "../../../../lib/rollout/agents/agent.ts";
import { rolloutsOf } from "../../../../lib/rollout/agents/own-agent.ts";
import { baselineAgent, baselineNames, searchesFor } from "../../../../lib/rollout/baselines/baselines.ts";
import type { Trajectory } from "../../../../lib/rollout/trajectory.ts";
import { copyTokenizer } from "../../../../lib/text/tokenizers/copy-tokenizer.ts";
import { countSchedule } from "../../../../lib/train/algorithm/schedule.ts";
import type { RlMetrics, RlOptions } from "../../../../lib/train/rl-options.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { openLearners, runRl } from "../../open/learners.ts";
import { loadMixed } from "../../open/question-sets.ts";
import { openSession, type Session } from "../../open/session.ts";
import { agentOptions, noSearch, openSurroundings, type Surroundings } from "../../options/agent-options.ts";
import { judgeRewardOptions, openJudgeRewards } from "../../options/judge-rewards.ts";
import { engineOptions, modelOptions, runOptions } from "../../options/model-options.ts";
import type { RecipeParts } from "../../options/recipe-options.ts";
import { trainedRecipe, trainingOptions } from "../../options/training-options.ts";
import { progressLine } from "../../report/progress.ts";

const options = z.strictObject({
  ...modelOptions,
  ...engineOptions,
  questions: z.array(z.string()).min(1).describe("JSON Lines of {id, question, answers}; several are mixed"),
  ...agentOptions,
  ...runOptions,
  ...trainingOptions,
  ...judgeRewardOptions,
  baseline: z
    .enum(baselineNames)
    .optional()
    .describe("trains a plain way to answer instead: direct and cot without search, rag with one search"),
  rewardUrl: z
    .string()
    .optional()
    .describe("server that scores conversations (POST /get_reward) in place of the recipe's reward"),
  rewardKeyEnv: z.string().optional().describe("environment variable with that server's API key"),
  evalFirst: z.boolean().default(false).describe("evaluates before the first step too"),
  evalQuestions: z.array(z.string()).min(1).optional().describe("evaluates on these, greedily"),
  searchShare: z
    .number()
    .gt(0)
    .lte(1)
    .default(0.9)
    .describe("with --stage auto: share of rollouts that search at which stage 1 ends"),
  evalEvery: z.int().min(1).default(50).describe("steps between evaluations"),
});

type Options = z.output<typeof options>;

/** The command. */
export const trainCommand = command({
  name: "train",
  summary: "improves a search agent by reinforcement learning",
  goesOn: "from the last finished step",
  options,
  run: async (given, io) => {
    const { baseline, tools, stage } = given;
    if (baseline !== undefined && (tools !== undefined || stage === "auto")) {
      throw new UsageError("--baseline: expected without --tools and --stage auto, which are a recipe's");
    }
    if (given.judgeUrl !== undefined && given.rewardUrl !== undefined) {
      throw new UsageError("--reward-url: expected without --judge-url, which rewards answers too");
    }
    const needsSearch = baseline === undefined || searchesFor(baseline);
    await using met = needsSearch ? await openSurroundings(given) : noSearch;
    await using rewards = await openJudgeRewards(given);
    const parts = { tools: met.tools, judge: rewards.judge };
    const { steps } = trainedRecipe(given, parts).training;
    await using session = await openSession(given);
    const last: { metrics?: RlMetrics } = {};
    for (const stage of stagesOf(given)) await trainStage(stage, { session, met, parts, io, last });
    const folder = join(given.out, "model");
    await session.model.save(folder);
    await copyTokenizer(given.model, folder);
    const outcome =
      last.metrics === undefined ? " were done before" : `, ${rewardText(last.metrics)} in the last`;
    io.write(`${steps} steps${outcome}; model in ${folder}\n`);
    io.result({ steps, model: folder, metrics: last.metrics ?? null });
  },
});

/** One run of a training, in a folder of its own. */
interface Stage {
  readonly given: Options;
  readonly endWhen?: RlOptions["endWhen"];
}

// A stage starts from the weights that the stage before has left in the model; so it does when it is resumed.
function stagesOf(given: Options): Stage[] {
  if (given.stage !== "auto") return [{ given }];
  const stage = (number: "1" | "2"): Options => ({
    ...given,
    stage: number,
    out: join(given.out, `stage${number}`),
  });
  const endWhen = (metrics: RlMetrics): boolean => (metrics["search/share"] ?? 0) >= given.searchShare;
  return [{ given: stage("1"), endWhen }, { given: stage("2") }];
}

interface StageParts {
  readonly session: Session;
  readonly met: Surroundings;
  readonly parts: Pick<RecipeParts, "tools" | "judge">;
}

async function trainStage(
  { given, endWhen }: Stage,
  { session, met, parts: around, ...rest }: StageParts & Omit<Around, "opened">,
): Promise<void> {
  const recipe = trainedRecipe(given, around);
  await using opened = await openLearners(session.model, recipe.algorithm, recipe.training);
  const parts = agentPartsOf(session, recipe, met.search);
  const planned = await plan(given, recipe, parts, { ...rest, opened });
  await runRl(endWhen ? { ...planned, endWhen } : planned);
}

interface Around {
  readonly opened: { readonly learners: RlOptions["learners"] };
  readonly io: CommandIo;
  readonly last: { metrics?: RlMetrics };
}

async function plan(
  given: Options,
  recipe: Recipe,
  parts: AgentParts,
  { opened, io, last }: Around,
): Promise<RlOptions> {
  const { steps, samples } = recipe.training;
  const progress = progressLine(io);
  const planned = trainingOf(recipe, parts, await loadMixed(given.questions));
  const agent = given.baseline === undefined ? searchAgent(parts) : baselineAgent(parts, given.baseline);
  const play = given.baseline === undefined ? {} : { rollout: rolloutsOf(agent) };
  const scorer = rewardServer(given);
  const onCheckpoint = (to: string): Promise<void> => copyTokenizer(given.model, to);
  return {
    ...{ ...planned, learners: opened.learners, seed: given.seed, signal: io.signal },
    task: {
      ...{ ...planned.task, ...play, reward: scorer ?? planned.task.reward },
      onRewardFailure: onceAStep(io, last),
    },
    batch: {
      ...planned.batch,
      samples: countSchedule({ from: samples, to: given.samplesAtEnd ?? samples, steps }),
      maxTokens: given.microBatchTokens,
    },
    run: {
      ...{ folder: given.out, checkpointEvery: given.checkpointEvery, onCheckpoint },
      tensorBoard: given.tensorboard,
    },
    ...(await planEvaluation(given, agent, io)),
    onStep: (metrics, trajectories) => {
      last.metrics = metrics;
      for (const warning of warningsOf(metrics, trajectories)) io.log(`step ${metrics.step}: ${warning}`);
      progress.show(`step ${metrics.step} of ${steps}: ${rewardText(metrics)}`);
    },
  };
}

function rewardText(metrics: RlMetrics): string {
  const [whole = 0, ofTokens] = [metrics["reward/mean"], metrics["reward/tokens"]];
  const besides = ofTokens === undefined ? "" : ` and ${ofTokens.toFixed(3)} by tokens`;
  return `reward ${whole.toFixed(3)}${besides}`;
}

function rewardServer({ rewardUrl: url, rewardKeyEnv: apiKeyEnv }: Options): Reward | undefined {
  if (url === undefined && apiKeyEnv !== undefined) {
    throw new UsageError("--reward-key-env: expected only with --reward-url");
  }
  return url === undefined ? undefined : remoteReward({ url, apiKeyEnv });
}

/** A reward that fails does so at many trajectories of a step; the first says why, `warningsOf` how many there were. */
function onceAStep(io: CommandIo, last: Around["last"]): (reason: string) => void {
  let told = -1;
  return (reason) => {
    const { step = 0 } = last.metrics ?? {};
    if (told === step) return;
    told = step;
    io.log(`not rewarded: ${reason}`);
  };
}

/** What makes rollouts worthless without ending them. */
function warningsOf(metrics: RlMetrics, trajectories: readonly Trajectory[]): string[] {
  const reasons = trajectories.flatMap(({ failureReasons = [] }) => failureReasons);
  const mute = trajectories.filter(({ stop, turns }) => stop === "context" && turns === 0).length;
  const unscored = metrics["reward/unscored"] ?? 0;
  return [
    ...(unscored > 0
      ? [`${unscored} of ${trajectories.length} trajectories were not rewarded and left out`]
      : []),
    ...(reasons.length > 0 ? [`${reasons.length} searches failed, the first one with: ${reasons[0]}`] : []),
    ...(mute > 0 ? [`${mute} trajectories are empty: their prompts leave no room for a token`] : []),
  ];
}

async function planEvaluation(
  { evalQuestions, evalEvery, evalFirst: isFirst, seed }: Options,
  policy: Agent,
  { signal }: CommandIo,
): Promise<Pick<RlOptions, "evaluation">> {
  if (evalQuestions === undefined) return {};
  const questions = await loadMixed(evalQuestions);
  const agent: Agent = (question, how) => policy(question, { ...how, sampling: { temperature: 0 } });
  return {
    evaluation: {
      ...{ every: evalEvery, isFirst },
      evaluate: async () => {
        const evaluation = await evaluate({ questions, agent, seed, signal });
        const { em, f1, rounds, secondsPerQuestion, perQuestion } = evaluation;
        return {
          "eval/em": em,
          "eval/f1": f1,
          "eval/rounds": rounds,
          "eval/seconds_per_question": secondsPerQuestion,
          ...emBySource(questions, perQuestion),
        };
      },
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
