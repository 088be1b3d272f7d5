/** `seekrl train`: reinforcement learning of a search agent. */
import { join } from "node:path";
import { z } from "zod";
import { evaluate } from "../../evaluate/evaluate.ts";
import type { Recipe, Training } from "../../recipes/recipe.ts";
import { type AgentParts, rolloutGroup, searchAgent } from "../../rollout/agent.ts";
import type { Search } from "../../search/search.ts";
import { copyTokenizer } from "../../text/copy-tokenizer.ts";
import { type Algorithm, algorithms } from "../../train/algorithm.ts";
import type { RlMetrics, RlOptions } from "../../train/rl.ts";
import { schedule } from "../../train/schedule.ts";
import { agentOptions, agentParts, loadQuestions, recipeOf } from "../agent-options.ts";
import { type CommandIo, command } from "../command.ts";
import { openLearners, runRl } from "../learners.ts";
import { modelOptions, runOptions } from "../model-options.ts";
import { progressLine } from "../progress.ts";
import { openSearch } from "../search-options.ts";
import { openSession, type Session } from "../session.ts";

const algorithmNames = Object.keys(algorithms) as (keyof typeof algorithms)[];

const options = z.strictObject({
  ...modelOptions,
  questions: z.string().describe("JSON Lines of {id, question, answers}"),
  ...agentOptions,
  ...runOptions,
  algorithm: z.enum(algorithmNames).optional().describe("instead of the recipe's"),
  lossOn: z
    .enum(["policy", "all"])
    .default("policy")
    .describe("all trains on what was retrieved too: for the ablation of the mask only"),
  temperature: z.number().gt(0).default(1).describe("of the rollouts"),
  steps: z.int().min(1).optional().describe("instead of the recipe's"),
  batchQuestions: z.int().min(1).optional().describe("questions of one step"),
  samples: z.int().min(1).optional().describe("rollouts of each question"),
  learningRate: z.number().gt(0).optional().describe("the policy's"),
  warmupSteps: z.int().min(0).optional().describe("steps of linear warm-up"),
  decay: z.enum(["constant", "linear"]).optional().describe("what follows the policy's warm-up"),
  criticLearningRate: z.number().gt(0).optional().describe("the critic's"),
  criticWarmupSteps: z.int().min(0).optional().describe("the critic's"),
  weightDecay: z.number().min(0).optional().describe("AdamW's"),
  evalQuestions: z.string().optional().describe("evaluates on these, greedily"),
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
  options,
  run: async (given, io) => {
    using index = await openSearch(given);
    await using session = await openSession(given);
    const last: { metrics?: RlMetrics } = {};
    for (const stage of stagesOf(given)) await trainStage(stage, { session, search: index.search, io, last });
    const { steps } = chooseRecipe(given).training;
    const folder = join(given.out, "model");
    await session.model.save(folder);
    await copyTokenizer(given.model, folder);
    io.write(`${steps} steps; model in ${folder}\n`);
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

async function trainStage(
  { given, endWhen }: Stage,
  {
    session,
    search,
    ...around
  }: { readonly session: Session; readonly search: Search } & Omit<Around, "opened">,
): Promise<void> {
  const recipe = chooseRecipe(given);
  await using opened = await openLearners(session.model, recipe.algorithm, recipe.training);
  const parts = agentParts(session, search, recipe);
  const planned = await plan(given, recipe, parts, { ...around, opened });
  await runRl(endWhen ? { ...planned, endWhen } : planned);
}

function chooseRecipe(given: Options): Recipe {
  const recipe = recipeOf(given, given.algorithm);
  // Search-R1 has settings of its own for both of its algorithms.
  const isOwn = given.recipe === "search-r1" && (given.algorithm === "ppo" || given.algorithm === "grpo");
  const named: Algorithm =
    given.algorithm === undefined || isOwn ? recipe.algorithm : algorithms[given.algorithm];
  const changes = Object.keys(recipe.training).filter((key) => given[key as keyof Training] !== undefined);
  const training = Object.fromEntries(changes.map((key) => [key, given[key as keyof Training]]));
  return {
    ...recipe,
    algorithm: given.lossOn === "policy" ? named : { ...named, lossOn: given.lossOn },
    training: { ...recipe.training, ...training },
    sampling: { ...recipe.sampling, temperature: given.temperature },
  };
}

interface Around {
  readonly opened: { readonly learners: RlOptions["learners"] };
  readonly io: CommandIo;
  readonly last: { metrics?: RlMetrics };
}

async function plan(
  given: Options,
  { algorithm, training, reward, groupReward }: Recipe,
  parts: AgentParts,
  { opened, io, last }: Around,
): Promise<RlOptions> {
  const { steps, batchQuestions, samples } = training;
  const progress = progressLine(io);
  const onCheckpoint = (to: string): Promise<void> => copyTokenizer(given.model, to);
  return {
    ...{ learners: opened.learners, algorithm, steps, seed: given.seed, signal: io.signal },
    task: {
      questions: await loadQuestions(given.questions),
      rollout: (question, how) => rolloutGroup(parts, question, how),
      reward,
      ...(groupReward ? { groupReward } : {}),
    },
    batch: {
      ...{ questions: batchQuestions, samples, temperature: given.temperature },
      maxTokens: given.microBatchTokens,
    },
    learningRate: {
      policy: schedule({ ...training, peak: training.learningRate }),
      critic: schedule({ peak: training.criticLearningRate, warmupSteps: training.criticWarmupSteps }),
    },
    run: { folder: given.out, checkpointEvery: given.checkpointEvery, onCheckpoint },
    ...(await planEvaluation(given, parts, io)),
    onStep: (metrics) => {
      last.metrics = metrics;
      const reward = metrics["reward/mean"]?.toFixed(3);
      progress.show(`step ${metrics.step} of ${steps}: reward ${reward}`);
    },
  };
}

async function planEvaluation(
  { evalQuestions, evalEvery, seed }: Options,
  parts: AgentParts,
  { signal }: CommandIo,
): Promise<Pick<RlOptions, "evaluation">> {
  if (evalQuestions === undefined) return {};
  const questions = await loadQuestions(evalQuestions);
  const agent = searchAgent({ ...parts, sampling: { temperature: 0 } });
  return {
    evaluation: {
      every: evalEvery,
      evaluate: async () => {
        const { em, f1, rounds, secondsPerQuestion } = await evaluate({ questions, agent, seed, signal });
        return {
          "eval/em": em,
          "eval/f1": f1,
          "eval/rounds": rounds,
          "eval/seconds_per_question": secondsPerQuestion,
        };
      },
    },
  };
}
