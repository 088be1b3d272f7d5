/** What the demo shows and writes: the table, readable traces, summary.json. */
import type { Evaluation } from "../../lib/evaluate/evaluate.ts";
import type { QuestionResult } from "../../lib/evaluate/question-result.ts";
import type { QueryMode } from "../../lib/text/observation.ts";
import type { RlMetrics } from "../../lib/train/rl-options.ts";

/** One mode's evaluations on the same questions. */
export interface ModeResult {
  readonly before: Evaluation;
  readonly after: Evaluation;
}

/** The figures of one evaluation. */
export interface Figures {
  /** Share of questions answered exactly, 0 to 1. */
  readonly em: number;
  readonly f1: number;
  /** Rounds of retrieval per question. */
  readonly rounds: number;
  /** Wall-clock time of the evaluation divided by its questions. */
  readonly secondsPerQuestion: number;
}

/** The content of `summary.json`. */
export interface DemoSummary {
  readonly single: { readonly before: Figures; readonly after: Figures };
  readonly multi: { readonly before: Figures; readonly after: Figures };
  /** Held-out questions of each evaluation. */
  readonly questions: number;
}

function figures({ em, f1, rounds, secondsPerQuestion }: Evaluation): Figures {
  return { em, f1, rounds, secondsPerQuestion };
}

/** The figures of both modes. */
export function summarize(results: Readonly<Record<QueryMode, ModeResult>>): DemoSummary {
  const { single, multi } = results;
  return {
    single: { before: figures(single.before), after: figures(single.after) },
    multi: { before: figures(multi.before), after: figures(multi.after) },
    questions: single.before.questions,
  };
}

/** One step of training, as a line of progress. */
export function stepLine(metrics: RlMetrics, steps: number): string {
  const show = (name: string, digits: number): string => (metrics[name] ?? 0).toFixed(digits);
  const seconds = (metrics["seconds/rollout"] ?? 0) + (metrics["seconds/train"] ?? 0);
  const figures = `reward ${show("reward/mean", 3)}  rounds ${show("search/rounds", 2)}  kl ${show("policy/kl_reference", 4)}`;
  return `${metrics.step}/${steps}  ${figures}  ${seconds.toFixed(1)} s`;
}

/** The final table, ready to print. */
export function tableOf({ single, multi, questions }: DemoSummary): string {
  const row = (mode: string, moment: string, { em, f1, rounds, secondsPerQuestion }: Figures): string => {
    const cells = [(100 * em).toFixed(1), (100 * f1).toFixed(1), rounds.toFixed(2)];
    const milliseconds = (1000 * secondsPerQuestion).toFixed(1);
    return `${mode.padEnd(8)}${moment.padEnd(12)}${cells.map((cell) => cell.padStart(8)).join("")}${milliseconds.padStart(14)}`;
  };
  const header = `${"queries".padEnd(8)}${"".padEnd(12)}${"EM %".padStart(8)}${"F1 %".padStart(8)}${"rounds".padStart(8)}${"ms/question".padStart(14)}`;
  return [
    `${questions} held-out questions`,
    header,
    "-".repeat(header.length),
    row("single", "before RL", single.before),
    row("single", "after RL", single.after),
    row("multi", "before RL", multi.before),
    row("multi", "after RL", multi.after),
  ].join("\n");
}

/** One conversation, as a person would read it. */
export function traceOf(result: QuestionResult): string {
  const verdict = result.em === 1 ? "right" : `wrong, expected ${result.answers.join(" or ")}`;
  const text = result.segments.map((segment) => segment.text.trim()).join("\n");
  return `${text}\n=> ${verdict}`;
}

/** Three conversations worth reading: what RL mended in each mode, and a question that stays wrong. */
export function chooseTraces({ single, multi }: Readonly<Record<QueryMode, ModeResult>>): [string, string][] {
  const mended = ({ before, after }: ModeResult): QuestionResult | undefined => {
    const gained = after.perQuestion.filter(({ em }, i) => em === 1 && before.perQuestion[i]?.em === 0);
    return gained.toSorted((a, b) => b.queries.flat().length - a.queries.flat().length)[0];
  };
  const chosen: [string, QuestionResult | undefined][] = [
    ["One query a turn, right only after RL", mended(single) ?? single.after.perQuestion[0]],
    ["Parallel queries, right only after RL", mended(multi) ?? multi.after.perQuestion[0]],
    ["Still wrong after RL", multi.after.perQuestion.find(({ em }) => em === 0)],
  ];
  return chosen.flatMap(([title, result]) => (result ? [[title, traceOf(result)]] : []));
}
