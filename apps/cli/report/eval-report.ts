/** What `seekrl eval` prints: the figures of one policy, tables of sets and of policies, differences to the first. */
import { type Difference, differenceOf } from "../../../lib/evaluate/compare.ts";
import type { Evaluation, SetEvaluation } from "../../../lib/evaluate/evaluate.ts";
import { type FigureName, figureNames } from "../../../lib/evaluate/figures.ts";
import type { QuestionResult } from "../../../lib/evaluate/question-result.ts";
import { tableOf } from "./table.ts";

/** An evaluation of some sets. */
export interface Evaluated {
  readonly sets: readonly SetEvaluation[];
  readonly all: Evaluation;
}

/** As JSON, without what stands in the file of results. */
type Figures = Omit<Evaluation, "perQuestion" | "lost"> & { readonly lost: number };

/** The figures of an evaluation. */
function figuresOf({ perQuestion: _, lost, ...figures }: Evaluation): Figures {
  return { ...figures, lost: lost.length };
}

/** The figures as JSON; of several sets with those of each, and the means of their means, as papers give them. */
export function resultOf({ sets, all }: Evaluated): object {
  if (sets.length === 1) return figuresOf(all);
  const each = sets.map((set) => ({ ...figuresOf(set), name: set.name }));
  return { ...figuresOf(all), meanOfSets: meanOfSets(sets), sets: each };
}

function meanOfSets(sets: readonly SetEvaluation[]): Record<"em" | "f1" | "acc", number> {
  const mean = (name: "em" | "f1" | "acc"): number =>
    sets.reduce((sum, each) => sum + each[name], 0) / sets.length;
  return { em: mean("em"), f1: mean("f1"), acc: mean("acc") };
}

/** A line for each figure, with its interval. */
export function figureLines(all: Evaluation): string {
  const { intervals, ...figures } = figuresOf(all);
  const wasJudged = all.judged + all.judgeFailures > 0;
  const isShown = (name: string): boolean => wasJudged || !name.startsWith("judge");
  const lines = Object.entries(figures).filter(([name]) => isShown(name));
  return lines
    .map(([name, value]) => {
      const ends = figureNames.includes(name as FigureName) ? intervals[name as FigureName] : null;
      const around = ends === null ? "" : ` (${ends.map(formatNumber).join(" to ")})`;
      return `${name}: ${formatNumber(value)}${around}\n`;
    })
    .join("");
}

/** A row for each set, one for their mean, one for all questions. */
export function setsTable({ sets, all }: Evaluated): string {
  const columns = columnsOf([all]);
  const { em, f1, acc } = meanOfSets(sets);
  const mean = columns.map(({ name }) => ({ EM: em, F1: f1, acc })[name]?.toFixed(3) ?? "");
  return tableOf([
    ["", ...columns.map(({ name }) => name)],
    ...sets.map((set) => [set.name, ...columns.map(({ cell }) => cell(set))]),
    ["mean of sets", ...mean],
    ["all", ...columns.map(({ cell }) => cell(all))],
  ]);
}

/** A policy and its outcome. */
export interface PolicyOutcome {
  readonly name: string;
  readonly evaluated: Evaluated;
}

/** A row for each policy over all questions, and how its EM differs from the first one's. */
export function policiesTable(outcomes: readonly PolicyOutcome[]): string {
  const columns = columnsOf(outcomes.map(({ evaluated }) => evaluated.all));
  const rows = outcomes.map((outcome) => {
    const difference = outcome === outcomes[0] ? undefined : differencesToFirst(outcomes, outcome).em;
    return [
      outcome.name,
      ...columns.map(({ cell }) => cell(outcome.evaluated.all)),
      ...versusCells(difference),
    ];
  });
  return tableOf([["", ...columns.map(({ name }) => name), "EM gained", "from", "to", "p"], ...rows]);
}

function versusCells(difference: Difference | undefined): string[] {
  if (difference === undefined) return ["", "", "", ""];
  const { difference: gained, interval, pValue } = difference;
  return [...[gained, ...interval].map((value) => value.toFixed(3)), pValue.toFixed(4)];
}

/** The paired differences of a policy to the first one, over the questions that both answered. */
export function differencesToFirst(
  outcomes: readonly PolicyOutcome[],
  { evaluated }: PolicyOutcome,
): { readonly em?: Difference; readonly f1?: Difference } {
  const first = new Map(outcomes[0]?.evaluated.all.perQuestion.map((result) => [keyOf(result), result]));
  const pairs = evaluated.all.perQuestion.flatMap((result) => {
    const before = first.get(keyOf(result));
    return before === undefined ? [] : [[before, result] as const];
  });
  if (pairs.length === 0) return {};
  const compared = (name: "em" | "f1"): Difference =>
    differenceOf(
      pairs.map(([before]) => before[name]),
      pairs.map(([, after]) => after[name]),
    );
  return { em: compared("em"), f1: compared("f1") };
}

const keyOf = ({ set, index }: QuestionResult): string => JSON.stringify([set, index]);

interface Column {
  readonly name: string;
  readonly cell: (evaluation: Evaluation) => string;
}

function columnsOf(evaluations: readonly Evaluation[]): Column[] {
  const number =
    (digits: number, value: (evaluation: Evaluation) => number | null) =>
    (evaluation: Evaluation): string =>
      value(evaluation)?.toFixed(digits) ?? "-";
  const wasJudged = evaluations.some(({ judged, judgeFailures }) => judged + judgeFailures > 0);
  const wasAlone = evaluations.some(({ aloneSeconds }) => aloneSeconds !== null);
  return [
    { name: "questions", cell: ({ questions }) => String(questions) },
    { name: "EM", cell: number(3, ({ em }) => em) },
    { name: "F1", cell: number(3, ({ f1 }) => f1) },
    { name: "acc", cell: number(3, ({ acc }) => acc) },
    ...(wasJudged ? [{ name: "judge", cell: number(3, ({ judge }) => judge) }] : []),
    { name: "format", cell: number(3, ({ formatAccuracy }) => formatAccuracy) },
    { name: "retrieval", cell: number(3, ({ retrievalRecall }) => retrievalRecall) },
    { name: "rounds", cell: number(3, ({ rounds }) => rounds) },
    { name: "tokens", cell: number(1, ({ generatedTokens }) => generatedTokens) },
    { name: "seconds", cell: number(3, ({ secondsPerQuestion }) => secondsPerQuestion) },
    ...(wasAlone ? [{ name: "alone", cell: number(3, ({ aloneSeconds }) => aloneSeconds) }] : []),
  ];
}

function formatNumber(value: number | null): string {
  if (value === null) return "-";
  return Number.isInteger(value) ? String(value) : value.toFixed(4);
}
