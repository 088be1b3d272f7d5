/** `seekrl eval`: lets agents answer sets of questions and scores them; several policies are compared. */
import { statSync } from "node:fs";
import { parse } from "node:path";
import { z } from "zod";
import { codeOf, SeekError } from "../../../../lib/base/errors.ts";
import type { ProcessGroup } from "../../../../lib/comm/process-group.ts";
import type { QuestionSet } from "../../../../lib/data/question.ts";
import { evaluateSets } from "../../../../lib/evaluate/evaluate.ts";
import { rulesNames } from "../../../../lib/reward/metrics/rules.ts";
import type { Agent } from "../../../../lib/rollout/agents/agent.ts";
import { searchAgent } from "../../../../lib/rollout/agents/search-agent.ts";
import { baselineAgent, baselineNames, needsLogprobs, searchesFor } from "../../../baselines/baselines.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { dataFile } from "../../fields.ts";
import { onSharedModel } from "../../job.ts";
import { type AskedRecipe, askedRecipe, recipeAsked } from "../../open/asked-recipe.ts";
import { type OpenedPolicy, type PolicySource, policiesOf, policyOptions } from "../../open/policies.ts";
import { loadSets } from "../../open/question-sets.ts";
import {
  agentOptions,
  type Environment,
  noSearch,
  openEnvironment,
  refuseIdleTools,
} from "../../options/agent-options.ts";
import { judgeOptions, judgeSettings, type OpenedJudge, openJudge } from "../../options/judge-options.ts";
import { askedRecipeOptions } from "../../options/recipe-options.ts";
import { tensorParallelOption } from "../../options/run-options.ts";
import { samplingOptions } from "../../options/sampling-options.ts";
import {
  differencesToFirst,
  type Evaluated,
  figureLines,
  type PolicyOutcome,
  policiesTable,
  resultOf,
  setsTable,
} from "../../report/eval-report.ts";
import { progressLine } from "../../report/progress.ts";

const schema = z.strictObject({
  ...policyOptions,
  ...tensorParallelOption,
  questions: dataFile(z.array(z.string()).min(1).describe("JSON Lines of {id, question, answers}")),
  ...agentOptions,
  ...askedRecipeOptions,
  baseline: z
    .enum(baselineNames)
    .optional()
    .describe("a plain way to answer in place of the recipe, which then gives the limits only"),
  temperature: samplingOptions.temperature.default(0),
  topP: samplingOptions.topP,
  rules: z.enum(rulesNames).default("flashrag").describe("whose metric rules"),
  ...judgeOptions,
  numQuestions: z.int().min(1).optional().describe("takes the first ones of each file only"),
  concurrency: z.int().min(1).default(256).describe("questions under way at once"),
  alone: z
    .int()
    .min(0)
    .default(0)
    .describe("questions asked again one at a time, for the time without batching"),
  seed: z.int().min(0).default(0).describe("fixes every sampled token and the intervals"),
  out: z.string().optional().describe("file for one JSON line per question, as each is finished"),
  resume: z.boolean().default(false).describe("goes on with the file where an earlier run was stopped"),
});

type Options = z.output<typeof schema>;

/** The command. */
export const evalCommand = command({
  name: "eval",
  summary:
    "answers questions with an agent: EM, F1, a judge, retrieval recall, rounds, tokens, time, with intervals",
  options: schema,
  knowsRanks: true,
  run: (options, io) => onSharedModel(io, options.tensorParallel, (group) => evaluateAll(options, io, group)),
});

async function evaluateAll(
  options: Options,
  io: CommandIo,
  tensorParallel: ProcessGroup | undefined,
): Promise<void> {
  const { baseline, resume, out } = options;
  if (resume && out === undefined) throw new UsageError("--resume: expected only with --out");
  const policies = policiesOf({ ...options, tensorParallel });
  if (options.endpoint !== undefined && baseline !== undefined && needsLogprobs(baseline)) {
    throw new UsageError(`--baseline ${baseline}: needs log-probabilities, which an endpoint does not give`);
  }
  const files = policies.map(({ name }) => outputOf(out, policies.length > 1 ? name : undefined));
  if (!resume) files.forEach(refuseToEmpty);
  const sets = await loadSets(options.questions, options.numQuestions);
  const needsSearch = baseline === undefined || searchesFor(baseline);
  refuseIdleTools(options);
  const asked = await recipesOf(policies, options, io);
  // What one of them searches is open to all.
  const recipe = (asked.find(({ choice }) => !("memoryOnly" in choice && choice.memoryOnly)) ?? asked[0]!)
    .choice;
  await using environment = needsSearch ? await openEnvironment({ ...options, recipe }, io) : noSearch;
  await using judge = await openJudge(options.judge);
  const outcomes: PolicyOutcome[] = [];
  for (const [i, policy] of policies.entries()) {
    const isOneOfMany = policies.length > 1;
    const context = { options, asked: asked[i]!, io, sets, environment, judge, isOneOfMany };
    outcomes.push({ name: policy.name, evaluated: await evaluatePolicy(policy, context) });
  }
  tell(outcomes, io);
}

/** The recipe of each policy, told of. */
async function recipesOf(
  policies: readonly PolicySource[],
  options: Options,
  io: CommandIo,
): Promise<AskedRecipe[]> {
  const all: AskedRecipe[] = [];
  for (const { name, folders } of policies) {
    const asked = await askedRecipe(folders, options);
    if (asked.told !== undefined) io.log(`${policies.length > 1 ? `${name}: ` : ""}${asked.told}`);
    all.push(asked);
  }
  return all;
}

interface EvaluationContext {
  readonly options: Options;
  readonly asked: AskedRecipe;
  readonly io: CommandIo;
  readonly sets: readonly QuestionSet[];
  readonly environment: Environment;
  readonly judge: OpenedJudge | undefined;
  readonly isOneOfMany: boolean;
}

async function evaluatePolicy(policy: PolicySource, context: EvaluationContext): Promise<Evaluated> {
  const { options, asked, io, sets, judge, isOneOfMany } = context;
  const { seed, rules, concurrency, alone, resume } = options;
  await using opened = await policy.open(io);
  const progress = progressLine(io);
  const out = outputOf(options.out, isOneOfMany ? policy.name : undefined);
  const evaluated = await evaluateSets(sets, {
    ...{ agent: agentOf(opened, context), seed, rules, concurrency, alone, resume },
    output: out,
    judge: judge?.judge,
    settings: { ...outcomeSettings({ ...options, recipe: asked.choice }), ...policy.settings },
    onProgress: ({ set, done, total, em }) => {
      const of = [...(isOneOfMany ? [policy.name] : []), ...(sets.length > 1 ? [set] : [])];
      const where = of.length > 0 ? `${of.join(", ")}: ` : "";
      progress.show(`${where}${done} of ${total} questions, EM ${em.toFixed(3)}`);
    },
    signal: io.signal,
  }).catch((error) => {
    progress.end();
    const isPartial = ["ERR_ABORTED", "ERR_REMOTE"].includes(codeOf(error) ?? "");
    if (isPartial && out !== undefined)
      io.log(`what was answered stands in ${out}; --resume goes on with it`);
    throw error;
  });
  progress.end();
  warn(evaluated, io);
  return evaluated;
}

function agentOf(
  { engine, tokenizer, chatTemplate }: OpenedPolicy,
  { options, asked, environment }: EvaluationContext,
): Agent {
  const { temperature, topP, baseline } = options;
  const { search: found, tools } = environment;
  const { format, limits, searchThrough, tools: box } = recipeAsked(asked, options, { tools });
  const search = searchThrough?.(found) ?? found;
  const parts = { engine, tokenizer, chatTemplate, search, limits, sampling: { temperature, topP } };
  if (baseline !== undefined) return baselineAgent(parts, baseline);
  return searchAgent({ ...parts, format, tools: box });
}

/** Answers cost hours or money, and who repeats a command that was stopped does not mean to throw them away. */
function refuseToEmpty(out: string | undefined): void {
  const { size = 0 } = out === undefined ? {} : (statSync(out, { throwIfNoEntry: false }) ?? {});
  if (size === 0) return;
  const choice = "--resume goes on with it; for a new run delete it or name another one";
  throw new SeekError("ERR_STATE", `${out}: has answers of an earlier run: ${choice}`);
}

/** A file for each policy: its name stands before the ending. */
function outputOf(out: string | undefined, name: string | undefined): string | undefined {
  if (out === undefined || name === undefined) return out;
  const { ext } = parse(out);
  return `${out.slice(0, out.length - ext.length)}.${name}${ext}`;
}

/** What decides the outcome; how fast it is reached does not belong to it, and the questions are compared one by one. */
function outcomeSettings(options: Options): object {
  const { questions: _, numQuestions, concurrency, alone, out, resume, ...settings } = options;
  const { model, dtype, weights, device, endpoint, endpointModel, endpointApi, tokenizer, ...others } =
    settings;
  const { endpointKeyEnv, endpointConcurrency, judge, cacheGib, ...deciding } = others;
  return { ...deciding, judge: judgeSettings(judge) };
}

function warn({ all }: Evaluated, io: CommandIo): void {
  const were = (count: number, what: string) => (count === 1 ? `1 ${what} was` : `${count} ${what}s were`);
  const [search] = all.perQuestion.flatMap(({ failureReasons = [] }) => failureReasons);
  if (search !== undefined) io.log(`${all.failures} searches failed, the first one with: ${search}`);
  const unjudged = all.perQuestion.find(({ judgeFailure }) => judgeFailure !== undefined);
  if (unjudged !== undefined) {
    io.log(`${were(all.judgeFailures, "answer")} not judged, the first: ${unjudged.judgeFailure}`);
  }
  const mute = all.perQuestion.filter((each) => each.stop === "context" && each.generatedTokens === 0).length;
  if (mute > 0) io.log(`${were(mute, "question")} never answered: the prompt leaves no room for a token`);
  const [lost] = all.lost;
  if (lost !== undefined) io.log(`${were(all.lost.length, "question")} lost, the first: ${lost.reason}`);
}

function tell(outcomes: readonly PolicyOutcome[], io: CommandIo): void {
  for (const { name, evaluated } of outcomes) {
    const isOneOfMany = outcomes.length > 1;
    if (isOneOfMany) io.write(`${name}\n`);
    if (evaluated.sets.length > 1) io.write(`${setsTable(evaluated)}\n`);
    if (!isOneOfMany) io.write(figureLines(evaluated.all));
  }
  const [only, ...others] = outcomes;
  if (only !== undefined && others.length === 0) {
    io.result(resultOf(only.evaluated));
    return;
  }
  io.write(`${policiesTable(outcomes)}\nEM gained: over the first, with its interval; paired bootstrap.\n`);
  io.result({
    policies: outcomes.map((outcome, i) => ({
      name: outcome.name,
      ...resultOf(outcome.evaluated),
      ...(i === 0 ? {} : { versusFirst: differencesToFirst(outcomes, outcome) }),
    })),
  });
}
