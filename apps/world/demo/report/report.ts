/** What the demo found: the table, the content of summary.json. */
import type { QueryMode } from "../../../../lib/text/observation.ts";
import type { Decoding, ModelEvaluation, WorldSearch } from "../model-evaluation.ts";
import type { PartResults } from "../parts/parts.ts";
import type { DrawnAndGreedy } from "./curve.ts";

const names = ["em", "f1", "searchShare", "rounds", "numQueries", "generatedTokens"] as const;

/** Means over the held-out questions: shares from 0 to 1; rounds of retrieval, queries and generated tokens per question. */
type Figures = Readonly<Record<(typeof names)[number], number>>;

/** By how answers are chosen: the likeliest token each time, or tokens drawn at temperature 1, as in training. */
type BothDecodings = Readonly<Record<Decoding, Figures>>;

/** One model in one mode, behind the search with gaps and in a plain index of the same passages. */
type ModelFigures = Readonly<Record<WorldSearch, BothDecodings>>;

/** One model in both modes. */
type BothModes = Readonly<Record<QueryMode, ModelFigures>>;

interface ModeFigures {
  readonly before: ModelFigures;
  readonly after: ModelFigures;
}

/** The content of `summary.json`. */
export interface DemoSummary {
  readonly seed: number;
  /** Of each training. */
  readonly steps: number;
  /** Held-out questions of each evaluation. */
  readonly questions: number;
  readonly single: ModeFigures;
  readonly multi: ModeFigures;
  /** Goes on imitating the teacher of the start, over as many demonstrations as both trainings have rollouts. */
  readonly control: BothModes & { readonly samples: number };
  /** The start, shown a thorough teacher: what better demonstrations give without RL. @default not compared */
  readonly thorough?: BothModes & { readonly samples: number };
}

/** What the parts of a demo found; the last one only where it was asked for. */
export type DemoFindings = Omit<PartResults, "thorough"> & Partial<Pick<PartResults, "thorough">>;

/** What the figures stand for. */
interface DemoCounts {
  readonly seed: number;
  readonly steps: number;
  /** Rollouts of both trainings, and demonstrations of the control. */
  readonly samples: number;
  readonly thoroughSamples: number;
}

function figures(result: Figures): Figures {
  return Object.fromEntries(names.map((name) => [name, result[name]])) as Figures;
}

function modelFigures({ patchy, plain }: ModelEvaluation): ModelFigures {
  const both = ({ greedy, drawn }: ModelEvaluation[WorldSearch]): BothDecodings => ({
    ...{ greedy: figures(greedy), drawn: figures(drawn) },
  });
  return { patchy: both(patchy), plain: both(plain) };
}

/** The figures of every model. */
export function summarize(found: DemoFindings, counts: DemoCounts): DemoSummary {
  const mode = ({ before, after }: DemoFindings[QueryMode]): ModeFigures => ({
    ...{ before: modelFigures(before), after: modelFigures(after) },
  });
  const both = ({ single, multi }: DemoFindings["control"]): BothModes => ({
    ...{ single: modelFigures(single), multi: modelFigures(multi) },
  });
  return {
    ...{ seed: counts.seed, steps: counts.steps },
    questions: found.single.before.patchy.greedy.perQuestion.length,
    ...{ single: mode(found.single), multi: mode(found.multi) },
    control: { ...both(found.control), samples: counts.samples },
    ...(found.thorough && { thorough: { ...both(found.thorough), samples: counts.thoroughSamples } }),
  };
}

/** Exact match, the mean of both kinds of search, which training has mixed. */
export function bothSearches({ patchy, plain }: ModelFigures): DrawnAndGreedy {
  const mean = (decoding: Decoding): number => (patchy[decoding].em + plain[decoding].em) / 2;
  return { drawn: mean("drawn"), greedy: mean("greedy") };
}

const percent = (share: number): string => (100 * share).toFixed(1);

const columns = ["drawn", "greedy", "rounds"];

/** The final table and what its rows are, ready to print. */
export function tableOf(summary: DemoSummary): string {
  const { control, thorough, questions } = summary;
  const rows = (["single", "multi"] as const).flatMap((mode) => [
    row(mode, "start: imitates the guessing teacher", summary[mode].before),
    row("", "control: imitates it further", control[mode]),
    row("", "RL from the start", summary[mode].after),
    ...(thorough ? [row("", "start shown a thorough teacher", thorough[mode])] : []),
  ]);
  const header = line("mode", "", columns, columns);
  return [
    `Exact match in % on ${questions} held-out questions, of answers drawn at temperature 1, as in training, and of greedy ones;`,
    "rounds of retrieval per question, of the drawn ones",
    line("", "", ["search with gaps"], ["plain index"]),
    header,
    "-".repeat(header.length),
    ...rows,
    "",
    `Control: ${control.samples} more demonstrations of the guessing teacher, as many as both trainings have rollouts.`,
    ...(questions < 100 ? [smokeLine(summary)] : gainLines(summary)),
    ...thoroughLines(thorough?.samples),
  ].join("\n");
}

/** So few questions and steps say that the demo runs, and no more. */
const smokeLine = ({ questions, steps }: DemoSummary): string =>
  `${steps} steps and ${questions} questions show that everything runs; what differs between rows is chance.`;

/** What RL adds, and what parallel queries do, in the figures that training is about: the drawn ones. */
function gainLines({ single, multi, control }: DemoSummary): string[] {
  const gain = (decoding: Decoding, search: WorldSearch): string => {
    const em = (figures: ModelFigures): number => figures[search][decoding].em;
    const of = (mode: QueryMode, { before, after }: ModeFigures): string =>
      signed(100 * (em(after) - Math.max(em(control[mode]), em(before))));
    return `${of("single", single)} (single), ${of("multi", multi)} (multi)`;
  };
  const gains = (decoding: Decoding): string =>
    `  ${decoding} ${gain(decoding, "patchy")}; in a plain index ${gain(decoding, "plain")}`;
  const parallel = (search: WorldSearch): string => {
    const [one, many] = [single.after[search].drawn, multi.after[search].drawn];
    return `${(100 * (1 - many.rounds / one.rounds)).toFixed(0)} % fewer rounds, ${signed(100 * (many.em - one.em))} points of EM`;
  };
  return [
    "RL over the better of start and control, in points of EM:",
    gains("drawn"),
    gains("greedy"),
    `Parallel queries after RL (drawn): ${parallel("patchy")}; in a plain index ${parallel("plain")}.`,
  ];
}

function thoroughLines(samples: number | undefined): string[] {
  const first = "RL is no substitute for good demonstrations; it is for when there is no such teacher.";
  return samples === undefined
    ? [first, "--compare shows what those of a thorough teacher give without any RL."]
    : [first, `The last rows: ${samples} of one who looks everything up and asks again, without any RL.`];
}

function signed(points: number): string {
  return `${points < 0 ? "" : "+"}${points.toFixed(1)}`;
}

function row(mode: string, name: string, figures: ModelFigures): string {
  const cells = ({ drawn, greedy }: BothDecodings): string[] => [
    ...[percent(drawn.em), percent(greedy.em), drawn.rounds.toFixed(2)],
  ];
  return line(mode, name, cells(figures.patchy), cells(figures.plain));
}

function line(mode: string, name: string, gaps: readonly string[], plain: readonly string[]): string {
  const padded = (cells: readonly string[]): string =>
    cells
      .map((cell) => cell.padStart(8))
      .join("")
      .padStart(24);
  return `${mode.padEnd(8)}${name.padEnd(37)}${padded(gaps)}   ${padded(plain)}`;
}
