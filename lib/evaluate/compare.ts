/** Two runs over the same questions: how far apart they are, and whether chance explains it. */
import { checkOptions } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { type JsonRow, readJsonRows, rowError, textColumn } from "../data/files/jsonl.ts";
import {
  type BootstrapOptions,
  bootstrapPValue,
  type Interval,
  meanOf,
  percentileInterval,
  resampledMeans,
} from "./statistics/bootstrap.ts";
import { type SignTest, signTest } from "./statistics/sign-test.ts";

/** Two runs by one measure. */
export interface Difference {
  /** How many questions have the measure in both runs; the judge may have failed on some. */
  readonly questions: number;
  readonly first: number;
  readonly second: number;
  /** The second less the first. */
  readonly difference: number;
  /** Of the difference; paired bootstrap, 95 %. */
  readonly interval: Interval;
  /** Two-sided, by the paired bootstrap. */
  readonly pValue: number;
}

/** What two runs have in common and what sets them apart. */
export interface Comparison {
  readonly questions: number;
  /** By measure: those that both runs have, each over the questions that have it in both. */
  readonly differences: Readonly<Record<string, Difference>>;
  /** Questions that only one run answers right, by EM, and the exact test on them. */
  readonly mcnemar: SignTest;
}

const measures = [
  ...["em", "f1", "acc", "precision", "recall", "judge", "coverEm1", "coverEm2", "retrievalRecall"],
  ...["retrievalPrecision", "rounds", "generatedTokens", "observedTokens", "seconds"],
];

type Run = ReadonlyMap<string, JsonRow>;

/**
 * Compares two files of results, one JSON line per question, as `eval` and `score-answers` write them. Questions are
 * matched by set, id and text, in any order.
 *
 * @param firstPath - a file of results
 * @param secondPath - another one, over the same questions
 * @param options - how to resample
 * @returns differences and tests
 * @throws ERR_IO; ERR_FORMAT for a row without scores; ERR_ARGUMENT when the questions are not the same
 * @example
 * await evaluate({ questions, agent, output: "before.jsonl" });
 * await evaluate({ questions, agent, output: "after.jsonl", seed: 1 });
 * const { differences, mcnemar } = await compareRuns("before.jsonl", "after.jsonl");
 * console.log(differences.em?.difference, differences.em?.interval, mcnemar.pValue);
 */
export async function compareRuns(
  firstPath: string,
  secondPath: string,
  options: BootstrapOptions = {},
): Promise<Comparison> {
  checkOptions("compareRuns", options, { resamples: "number", confidence: "number", seed: "number" });
  const [first, second] = [await readRun(firstPath), await readRun(secondPath)];
  refuseMissing(first, second, secondPath);
  refuseMissing(second, first, firstPath);
  const pairs = [...first].map(([key, row]) => [row, second.get(key) as JsonRow] as const);
  const columnsOf = (measure: string): readonly [number[], number[]] => {
    const values = pairs.map((pair) => pair.map(({ value }) => value[measure]));
    // A null is a question that has no such value, such as one that the judge could not judge; without the key nobody asked.
    if (values.some((each) => each.some((value) => typeof value !== "number" && value !== null)))
      return [[], []];
    const both = values.filter((each) => each.every((value) => typeof value === "number")) as number[][];
    return [both.map(([value = 0]) => value), both.map(([, value = 0]) => value)];
  };
  const differences: Record<string, Difference> = {};
  for (const measure of measures) {
    const [a, b] = columnsOf(measure);
    if (a.length > 0) differences[measure] = differenceOf(a, b, options);
  }
  return { questions: pairs.length, differences, mcnemar: signTest(...columnsOf("em")) };
}

/**
 * The difference of two runs' means by the paired bootstrap: questions are drawn anew, each with both its values.
 *
 * @param first - one value per question, at least one
 * @param second - of the same questions
 * @param options - how to resample
 */
export function differenceOf(
  first: readonly number[],
  second: readonly number[],
  options: BootstrapOptions = {},
): Difference {
  const apart = first.map((value, i) => (second[i] ?? 0) - value);
  const [means = []] = resampledMeans([apart], options);
  return {
    questions: first.length,
    first: meanOf(first) ?? 0,
    second: meanOf(second) ?? 0,
    difference: meanOf(apart) ?? 0,
    interval: percentileInterval(means, options) ?? [0, 0],
    pValue: bootstrapPValue(means),
  };
}

async function readRun(path: string): Promise<Run> {
  const run = new Map<string, JsonRow>();
  for await (const row of readJsonRows(path)) {
    if (typeof row.value.em !== "number") throw rowError(row, `"em": a number`, JSON.stringify(row.value.em));
    const name = [row.value.set ?? "", textColumn(row, "id"), textColumn(row, "question")];
    // A question that stands twice in a set is two questions.
    let key = JSON.stringify(name);
    for (let copy = 1; run.has(key); copy++) key = JSON.stringify([...name, copy]);
    run.set(key, row);
  }
  if (run.size === 0) throw new SeekError("ERR_FORMAT", `${path}: expected a line per question, got none`);
  return run;
}

function refuseMissing(some: Run, others: Run, path: string): void {
  const missing = [...some].filter(([key]) => !others.has(key));
  const [first] = missing;
  if (first === undefined) return;
  throw new SeekError(
    "ERR_ARGUMENT",
    `${path}: expected the questions of the other run, got none like ${first[1].where}` +
      (missing.length > 1 ? ` and ${missing.length - 1} more` : ""),
  );
}
