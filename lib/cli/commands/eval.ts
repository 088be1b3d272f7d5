/** `seekrl eval`: lets an agent answer sets of questions and scores it. */
import { z } from "zod";
import { type Evaluation, evaluateSets, type SetEvaluation } from "../../evaluate/evaluate.ts";
import { type FigureName, figureNames } from "../../evaluate/figures.ts";
import { answerRules, type RulesName } from "../../reward/rules.ts";
import { searchAgent } from "../../rollout/agent.ts";
import { baselineAgent, baselineNames, searchesFor } from "../../rollout/baselines/baselines.ts";
import { agentOptions, agentParts, recipeOf } from "../agent-options.ts";
import { command, UsageError } from "../command.ts";
import { modelOptions, samplingOptions } from "../model-options.ts";
import { progressLine } from "../progress.ts";
import { loadSets } from "../question-sets.ts";
import { type OpenedSearch, openSearch } from "../search-options.ts";
import { openSession } from "../session.ts";
import { tableOf } from "../table.ts";

const rulesNames = Object.keys(answerRules) as RulesName[];

const schema = z.strictObject({
  ...modelOptions,
  questions: z.array(z.string()).min(1).describe("JSON Lines of {id, question, answers}"),
  ...agentOptions,
  baseline: z
    .enum(baselineNames)
    .optional()
    .describe("a plain way to answer in place of the recipe, which then gives the limits only"),
  temperature: samplingOptions.temperature.default(0),
  topP: samplingOptions.topP,
  rules: z.enum(rulesNames).default("flashrag").describe("whose metric rules"),
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

/** The command. */
export const evalCommand = command({
  name: "eval",
  summary: "answers questions with an agent: EM, F1, retrieval recall, rounds, tokens, time, with intervals",
  options: schema,
  run: async (options, io) => {
    const { temperature, topP, seed, rules, concurrency, alone, out, resume } = options;
    if (resume && out === undefined) throw new UsageError("--resume: expected only with --out");
    const sets = await loadSets(options.questions, options.numQuestions);
    const recipe = { ...recipeOf(options), sampling: { temperature, topP } };
    const { baseline } = options;
    using index = baseline !== undefined && !searchesFor(baseline) ? noSearch : await openSearch(options);
    await using session = await openSession(options);
    const parts = agentParts(session, index.search, recipe);
    const agent = baseline === undefined ? searchAgent(parts) : baselineAgent(parts, baseline);
    const progress = progressLine(io);
    const evaluated = await evaluateSets(sets, {
      ...{ agent, seed, rules, concurrency, alone, resume },
      ...(out === undefined ? {} : { output: out }),
      settings: outcomeSettings(options),
      onProgress: ({ set, done, total, em }) => {
        const of = sets.length > 1 ? `${set}: ` : "";
        progress.show(`${of}${done} of ${total} questions, EM ${em.toFixed(3)}`);
      },
      signal: io.signal,
    });
    progress.end();
    const { perQuestion, ...all } = evaluated.all;
    const [reason] = perQuestion.flatMap(({ failureReasons = [] }) => failureReasons);
    if (reason !== undefined) io.log(`${all.failures} searches failed, the first one with: ${reason}`);
    if (sets.length > 1) io.write(`${setsTable(evaluated.sets, evaluated.all)}\n`);
    writeFigures(all, io.write);
    io.result(sets.length > 1 ? { ...all, ...macro(evaluated.sets), sets: evaluated.sets.map(brief) } : all);
  },
});

const noSearch: OpenedSearch = { search: async () => [], [Symbol.dispose]: () => {} };

/** What decides the outcome; how fast it is reached does not belong to it, and the questions are compared one by one. */
function outcomeSettings(options: z.output<typeof schema>): object {
  const { questions: _, numQuestions, concurrency, alone, out, resume, ...settings } = options;
  return settings;
}

type Figures = Omit<Evaluation, "perQuestion">;

function brief({ perQuestion: _, ...figures }: SetEvaluation): Figures & { readonly name: string } {
  return figures;
}

/** Means of the sets' means, as papers give them. */
function macro(sets: readonly SetEvaluation[]): { readonly meanOfSets: Record<"em" | "f1" | "acc", number> } {
  const mean = (name: "em" | "f1" | "acc"): number =>
    sets.reduce((sum, each) => sum + each[name], 0) / sets.length;
  return { meanOfSets: { em: mean("em"), f1: mean("f1"), acc: mean("acc") } };
}

function writeFigures(all: Figures, write: (text: string) => void): void {
  const { intervals, ...figures } = all;
  for (const [name, value] of Object.entries(figures)) {
    const ends = figureNames.includes(name as FigureName) ? intervals[name as FigureName] : null;
    const around = ends === null ? "" : ` (${ends.map(formatNumber).join(" to ")})`;
    write(`${name}: ${formatNumber(value)}${around}\n`);
  }
}

function setsTable(sets: readonly SetEvaluation[], all: Evaluation): string {
  const head = ["", "questions", "EM", "F1", "acc", "retrieval", "rounds", "tokens", "seconds"];
  const rowOf = (name: string, each: Evaluation): string[] => [
    name,
    String(each.questions),
    ...[each.em, each.f1, each.acc, each.retrievalRecall, each.rounds].map((value) =>
      value === null ? "-" : value.toFixed(3),
    ),
    each.generatedTokens.toFixed(1),
    each.secondsPerQuestion.toFixed(3),
  ];
  const { em, f1, acc } = macro(sets).meanOfSets;
  const mean = ["mean of sets", "", ...[em, f1, acc].map((value) => value.toFixed(3)), "", "", "", ""];
  return tableOf([head, ...sets.map((each) => rowOf(each.name, each)), mean, rowOf("all", all)]);
}

function formatNumber(value: number | null): string {
  if (value === null) return "-";
  return Number.isInteger(value) ? String(value) : value.toFixed(4);
}
