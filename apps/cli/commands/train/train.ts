/** `seekrl train`: reinforcement learning of a search agent. */
import { join } from "node:path";
import type { WorkerPool } from "../../../../connectors/workers/worker-pool.ts";
import type { Question } from "../../../../lib/data/question.ts";
import type { LocalPolicy } from "../../../../lib/engine/local-policy.ts";
import type { RecipeParts } from "../../../../lib/recipes/named-recipe.ts";
import { agentPartsOf } from "../../../../lib/recipes/plan.ts";
import { optimiserOf, type Recipe } from "../../../../lib/recipes/recipe.ts";
import type { AgentParts } from "../../../../lib/rollout/agents/search-agent.ts";
import type { SequenceSource } from "../../../../lib/rollout/seams.ts";
import type { MemoryPlan } from "../../../../lib/train/memory/plan.ts";
import type { RlMetrics, RlOptions } from "../../../../lib/train/rl-options.ts";
import { searchesFor } from "../../../baselines/baselines.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { inJob, type Job } from "../../job.ts";
import { openJudgeRewards } from "../../open/judge-rewards.ts";
import { openLearners, probe, runRl } from "../../open/learners.ts";
import { openLocalPolicy, policyFolders } from "../../open/local-policy.ts";
import { beginningOf, doneIn } from "../../open/run-folder.ts";
import {
  agentOf,
  type PlanContext,
  planTraining,
  type TrainOptions,
  trainOptions,
} from "../../open/training-plan.ts";
import { type Environment, noSearch, openEnvironment } from "../../options/agent-options.ts";
import { oneAdapter } from "../../options/lora-options.ts";
import { bytesOf, refuseSharing, sharingOf } from "../../options/run-options.ts";
import { trainedRecipe } from "../../options/training-options.ts";
import { durationText } from "../../report/pace.ts";
import { settingsLines } from "../../report/training-report.ts";
import { openLiveStudio } from "../studio/live-studio.ts";
import { generate, openRoles, rolloutRankOptions } from "./rollout-ranks.ts";
import { tellMemory } from "./training-memory.ts";
import { openWorkers, type WorkerChoice, workerOptions } from "./workers.ts";

/** The command. */
export const trainCommand = command({
  name: "train",
  summary: "improves a search agent by reinforcement learning",
  goesOn: "from the last finished step",
  knowsRanks: true,
  options: trainOptions.extend({ ...workerOptions, ...rolloutRankOptions }),
  run: (options, io) => {
    refuseSharing(options);
    return inJob(io, (job) => train(options, job), options);
  },
});

type Given = TrainOptions & WorkerChoice & { readonly rolloutRanks: number };

async function train(options: Given, { io, processGroup, tensorParallel, layoutLine }: Job): Promise<void> {
  const given = { ...options, ...(await policyFolders(options)) };
  const { baseline, tools } = given;
  if (baseline !== undefined && (tools !== undefined || stageOf(given) === "auto")) {
    throw new UsageError("--baseline: expected without --tools and stage=auto, which are a recipe's");
  }
  if (given.judge !== undefined && given.rewardUrl !== undefined) {
    throw new UsageError("--reward-url: expected without --judge, which rewards answers too");
  }
  const needsSearch = baseline === undefined || searchesFor(baseline);
  await using environment = needsSearch ? await openEnvironment(given, io) : noSearch;
  await using rewards = await openJudgeRewards(given.judge);
  const parts = { tools: environment.tools, judge: rewards.judge };
  // What does not go together is refused before a model is read.
  const recipe = trainedRecipe(given, parts);
  const { lora } = recipe.training;
  if (given.lora !== undefined && given.adapter !== undefined) throw new UsageError(oneAdapter);
  await using roles = await openRoles(given, processGroup);
  const ranks = roles?.training?.size ?? processGroup?.size;
  const memory = roles?.isRollout ? undefined : await tellTraining(given, recipe, { ranks, io });
  await using policy = await openLocalPolicy({ ...given, lora, tensorParallel }, io);
  const isFirst = (processGroup?.rank ?? 0) === 0;
  await using _studio = await openLiveStudio(isFirst && given.studio && !given.dryRun, given.out, io);
  const last: { metrics?: RlMetrics } = {};
  const stages = stagesOf(given);
  const job = { processGroup, roles, layoutLine };
  for (const stage of stages)
    await trainStage(stage, { policy, environment, parts, memory, io, ...job, last });
  if (given.dryRun || roles?.isRollout) return;
  const { out } = stages.at(-1)!.given;
  const [folder, steps] = [join(out, "model"), await doneIn(out)];
  const outcome =
    last.metrics === undefined
      ? " were done before"
      : `, reward ${last.metrics["reward/total"]?.toFixed(3)} in the last`;
  io.write(`${steps} steps${outcome}; model in ${folder}\n`);
  io.result({ steps, model: folder, metrics: last.metrics ?? null });
}

/** One run of a training, in a folder of its own. */
interface Stage {
  readonly given: Given;
  readonly endWhen?: RlOptions["endWhen"];
}

// A stage starts from the weights that the stage before has left in the model; so it does when it is resumed.
function stagesOf(given: Given): Stage[] {
  const { recipe } = given;
  if (recipe.name !== "r1-searcher" || recipe.stage !== "auto") return [{ given }];
  const stage = (number: 1 | 2): Given => ({
    ...given,
    recipe: { ...recipe, stage: number },
    out: join(given.out, `stage${number}`),
  });
  const endWhen = (metrics: RlMetrics): boolean => (metrics["search/share"] ?? 0) >= recipe.searchShare;
  return [{ given: stage(1), endWhen }, { given: stage(2) }];
}

function stageOf({ recipe }: TrainOptions): unknown {
  return recipe.name === "r1-searcher" ? recipe.stage : undefined;
}

interface StageParts {
  readonly policy: LocalPolicy;
  readonly environment: Environment;
  readonly parts: RecipeParts;
  readonly memory: MemoryPlan | undefined;
}

async function trainStage(
  { given, endWhen }: Stage,
  { policy, environment, parts: recipeParts, memory, ...context }: StageParts & PlanContext,
): Promise<void> {
  const { io, roles } = context;
  const recipe = trainedRecipe(given, recipeParts);
  const parts = agentPartsOf(policy, recipe, environment.search);
  const processGroup = roles === undefined ? context.processGroup : roles.rollout;
  const making = await planTraining(given, recipe, parts, { ...context, processGroup });
  if (roles?.isRollout && given.dryRun) return;
  const agent = (engine: SequenceSource) => agentOf(given, { ...parts, engine });
  const isTraining = roles !== undefined && !roles.isRollout;
  await using pool = isTraining
    ? undefined
    : await openWorkers(given, { policy, limits: parts.limits, agent, io, processGroup });
  const made = withPool(making, pool);
  if (roles?.isRollout) return await generate(made, { policy: policy.policy, roles });
  await using opened = await openLearners(policy.policy, recipe.algorithm, {
    ...optimiserOf(recipe.training),
    activationBytes: bytesOf(given.activationGib),
    ...sharingOf(given),
    processGroup: roles?.training ?? context.processGroup,
  });
  const planned: RlOptions = { ...made, learners: opened.learners };
  const settings = { recipe: given.recipe.name, numQuestions: planned.task.questions.length };
  for (const line of settingsLines(settings, recipe)) io.log(line);
  for (const line of await lintLines(policy, recipe, { parts, questions: planned.task.questions }))
    io.log(line);
  const [asked, held] = [recipe.training.batchQuestions, planned.task.questions.length];
  if (asked > held) {
    const remedy = "Remedy: a smaller --batch-questions, or more questions";
    io.log(`warning: a step asks ${asked} questions of ${held}, some of them more than once. ${remedy}`);
  }
  if (given.dryRun) return await tellProbe(planned, memory, io);
  const beginning = await beginningOf(given, planned.steps);
  if (beginning !== undefined) io.log(beginning);
  await runRl({ ...planned, endWhen });
}

/** The same plan, whose rollouts are a pool's where there is one; it is evaluated here. */
function withPool<Planned extends Pick<RlOptions, "task">>(
  planned: Planned,
  pool: WorkerPool | undefined,
): Planned {
  if (pool === undefined) return planned;
  return { ...planned, task: { ...planned.task, rollout: pool.rollouts } };
}

/** What it takes, before a weight is read. An adapter that is new has its model as the reference. */
async function tellTraining(
  given: Given,
  { algorithm, training }: Recipe,
  { ranks, io }: { readonly ranks: number | undefined; readonly io: CommandIo },
): Promise<MemoryPlan> {
  const { microBatchTokens: tokens, device, zero, tensorParallel, rolloutRanks } = given;
  // A GPU's cache is what training leaves; a rank that only trains has none.
  const cacheGib = rolloutRanks > 0 ? 0 : (given.cacheGib ?? (device === "cpu" ? 1 : 0));
  const { memory } = await tellMemory(
    {
      ...{ ...given, ...optimiserOf(training), lora: training.lora, zero, ranks, tensorParallel },
      batch: { tokens, rows: tokens },
      activationBytes: bytesOf(given.activationGib),
      hasCritic: algorithm.advantage === "gae",
      hasReference: algorithm.kl !== undefined && training.lora === undefined,
      cacheBytes: cacheGib * 2 ** 30,
    },
    io,
  );
  return memory;
}

/** What lint's quick checks found wrong. */
async function lintLines(
  { policy: model, tokenizer }: LocalPolicy,
  { reward }: Recipe,
  { parts, questions }: { readonly parts: AgentParts; readonly questions: readonly Question[] },
): Promise<string[]> {
  const { quickLint } = await import("../../../lint/lint.ts");
  const findings = quickLint({ parts, tokenizer, model, reward, questions, question: questions[0]! });
  return findings.flatMap(({ status, check, evidence }) =>
    status === "fail"
      ? [`warning: a check of lint fails: ${check}: ${evidence}. Remedy: see seekrl lint`]
      : [],
  );
}

/** What a step of the plan takes, as measured on a few of its questions. */
async function tellProbe(planned: RlOptions, memory: MemoryPlan | undefined, io: CommandIo): Promise<void> {
  const { questions, rolloutSeconds, trainSeconds } = await probe(planned);
  const seconds = rolloutSeconds + trainSeconds;
  const parts = `${rolloutSeconds.toFixed(1)} s of rollouts, ${trainSeconds.toFixed(1)} s of training`;
  const whole = durationText(seconds * planned.steps);
  io.log(
    `time       at most ${seconds.toFixed(1)} s a step (${parts}), ${whole} in all; measured on ${questions} of ${planned.batch.questions} questions`,
  );
  io.result({ steps: planned.steps, secondsPerStep: seconds, rolloutSeconds, trainSeconds, memory });
}
