/** What the demo says: lines of progress, the table, the content of summary.json. */
import type { QueryMode } from "../../lib/text/observation.ts";
import type { RlMetrics } from "../../lib/train/rl-options.ts";
import type { HeldOut } from "./held-out.ts";
import type { BeforeAfter } from "./reinforce.ts";

/** One mode's evaluations on the same questions. */
export type ModeResult = BeforeAfter;

const names = ["em", "f1", "searchShare", "rounds", "numQueries", "generatedTokens"] as const;

/** Means over the held-out questions: shares from 0 to 1; rounds of retrieval, queries and generated tokens per question. */
type Figures = Readonly<Record<(typeof names)[number], number>>;

/** One model in both modes. */
type BothModes = Readonly<Record<QueryMode, Figures>>;

/** The content of `summary.json`. */
export interface DemoSummary {
  readonly seed: number;
  /** Held-out questions of each evaluation. */
  readonly questions: number;
  readonly single: { readonly before: Figures; readonly after: Figures };
  readonly multi: { readonly before: Figures; readonly after: Figures };
  /** Goes on imitating the teacher of the start, over as many demonstrations as both trainings have rollouts. */
  readonly control: BothModes & { readonly samples: number };
  /** The start, shown a thorough teacher: what better demonstrations give without RL. @default not compared */
  readonly thorough?: BothModes & { readonly samples: number };
}

/** The evaluations of every model. */
export interface DemoEvaluations extends Readonly<Record<QueryMode, ModeResult>> {
  readonly control: Readonly<Record<QueryMode, HeldOut>>;
  readonly thorough?: Readonly<Record<QueryMode, HeldOut>> | undefined;
}

/** What the figures stand for. */
interface DemoCounts {
  readonly seed: number;
  /** Rollouts of both trainings, and demonstrations of the control. */
  readonly samples: number;
  readonly thoroughSamples: number;
}

function figures(result: Figures): Figures {
  return Object.fromEntries(names.map((name) => [name, result[name]])) as Figures;
}

/** The figures of every model. */
export function summarize(results: DemoEvaluations, counts: DemoCounts): DemoSummary {
  const beforeAfter = ({ before, after }: ModeResult) => ({ before: figures(before), after: figures(after) });
  const both = ({ single, multi }: BothModes): BothModes => ({
    ...{ single: figures(single), multi: figures(multi) },
  });
  return {
    ...{ seed: counts.seed, questions: results.single.before.perQuestion.length },
    ...{ single: beforeAfter(results.single), multi: beforeAfter(results.multi) },
    control: { ...both(results.control), samples: counts.samples },
    ...(results.thorough && {
      thorough: { ...both(results.thorough), samples: counts.thoroughSamples },
    }),
  };
}

const percent = (share: number): string => (100 * share).toFixed(1);

/** One evaluation, as a line of progress. */
export function figuresLine({ em, searchShare, rounds, generatedTokens }: Figures): string {
  const searched = `searched ${percent(searchShare)}%  rounds ${rounds.toFixed(2)}`;
  return `EM ${percent(em)}%  ${searched}  tokens ${generatedTokens.toFixed(0)}`;
}

/** One step of training, as a line of progress. */
export function stepLine(metrics: RlMetrics, steps: number): string {
  const show = (name: string, digits: number): string => (metrics[name] ?? 0).toFixed(digits);
  const seconds = (metrics["seconds/rollout"] ?? 0) + (metrics["seconds/train"] ?? 0);
  const shown = `reward ${show("reward/mean", 3)}  rounds ${show("search/rounds", 2)}  kl ${show("policy/kl_reference", 4)}`;
  return `${metrics.step}/${steps}  ${shown}  ${seconds.toFixed(1)} s`;
}

const columns = ["EM %", "F1 %", "searched %", "rounds", "queries", "tokens"];

/** The final table and what its rows are, ready to print. */
export function tableOf(summary: DemoSummary): string {
  const { control, thorough, questions } = summary;
  const rows = (["single", "multi"] as const).flatMap((mode) => [
    row(mode, "start: imitates the hasty teacher", summary[mode].before),
    row("", "control: imitates it further", control[mode]),
    row("", "RL from the start", summary[mode].after),
    ...(thorough ? [row("", "start shown a thorough teacher", thorough[mode])] : []),
  ]);
  const header = line("mode", "", columns);
  const gain = (mode: QueryMode): string =>
    signed(100 * (summary[mode].after.em - Math.max(control[mode].em, summary[mode].before.em)));
  return [
    `${questions} held-out questions, greedily; rounds of retrieval, queries and generated tokens per question`,
    header,
    "-".repeat(header.length),
    ...rows,
    "",
    `Control: ${control.samples} more demonstrations of the hasty teacher, as many as both trainings have rollouts.`,
    `RL over the better of start and control: ${gain("single")} EM points (single), ${gain("multi")} (multi)${smokeNote(questions)}.`,
    ...thoroughLines(thorough?.samples),
  ].join("\n");
}

/** Points of few questions say that the demo runs, and no more: a whole one asks hundreds. */
const smokeNote = (questions: number): string =>
  questions < 100 ? ` (${questions} questions: a smoke test)` : "";

function thoroughLines(samples: number | undefined): string[] {
  const first = "RL is no substitute for good demonstrations; it is for when there is no such teacher.";
  return samples === undefined
    ? [first, "--compare shows what those of a thorough teacher give without any RL."]
    : [first, `The last rows: ${samples} of one who looks everything up and asks again, without any RL.`];
}

function signed(points: number): string {
  return `${points < 0 ? "" : "+"}${points.toFixed(1)}`;
}

function row(mode: string, name: string, figures: Figures): string {
  const { em, f1, searchShare, rounds, numQueries, generatedTokens } = figures;
  const shares = [em, f1, searchShare].map(percent);
  return line(mode, name, [...shares, rounds.toFixed(2), numQueries.toFixed(2), generatedTokens.toFixed(0)]);
}

function line(mode: string, name: string, cells: readonly string[]): string {
  const padded = cells.map((cell, i) => cell.padStart((columns[i]?.length ?? 0) + 2));
  return `${mode.padEnd(9)}${name.padEnd(35)}${padded.join("")}`;
}
