/** Scores for a model card: of files of results with their intervals, or of the run's own last evaluation. */
import { basename } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import type { Interval } from "../../../lib/evaluate/statistics/bootstrap.ts";
import { EvaluationFile } from "../../runs/evaluations/evaluation-file.ts";
import { fileFigures } from "../../runs/evaluations/figures.ts";
import type { RunFolder } from "../../runs/run-folder.ts";

/** What a card states of a set of questions, in this order. */
export const scoreNames = ["em", "f1"] as const;

/** `em` or `f1`. */
export type ScoreName = (typeof scoreNames)[number];

/** A figure of one set of questions. */
interface Score {
  readonly name: ScoreName;
  readonly value: number;
  /** Of 95 %; undefined where single results are not known. */
  readonly interval?: Interval | undefined;
}

/** The figures of one set. */
export interface SetScores {
  readonly set: string;
  /** Undefined where they are not known. */
  readonly numQuestions?: number | undefined;
  /** Of the training, where its own evaluation is meant. */
  readonly step?: number | undefined;
  readonly scores: readonly Score[];
}

/**
 * The scores of a file of `eval --out`, set by set.
 *
 * @throws ERR_IO; ERR_FORMAT for what holds no results; ERR_STATE while it is written
 */
export async function scoresInFile(path: string): Promise<SetScores[]> {
  const file = new EvaluationFile(path);
  const isUnderWay = await file.isUnderWay();
  await file.checkWhole();
  if (file.numRows === 0) throw new SeekError("ERR_FORMAT", `${path}: expected results, got none`);
  if (isUnderWay)
    throw new SeekError(
      "ERR_STATE",
      `${path}: expected a whole evaluation, got one under way. Remedy: its end`,
    );
  const { figures, bySet } = fileFigures(file);
  const sets = bySet.length > 0 ? bySet : [{ set: file.sets.texts[0] ?? "", figures }];
  const rows = Array.from({ length: file.numRows }, (_, row) => file.place("set", row));
  return sets.map(({ set, figures: own }, number) => ({
    // Of sets of one name the path is the name.
    set: basename(set),
    numQuestions: rows.filter((each) => each === number).length,
    scores: scoreNames.flatMap((name) => {
      const { mean = null, interval = null } = own.find((figure) => figure.name === name) ?? {};
      return mean === null ? [] : [{ name, value: mean, interval: interval ?? undefined }];
    }),
  }));
}

/**
 * The scores of the last evaluation that a run made itself.
 *
 * @param run - its folder
 * @param step - the last that counts, `@default` all of them
 */
export async function scoresInRun(run: RunFolder, step = Number.POSITIVE_INFINITY): Promise<SetScores[]> {
  const { metrics } = run;
  await metrics.refresh();
  const rows = Array.from({ length: metrics.numRows }, (_, row) => metrics.row(row));
  const last = rows.findLast((row) => typeof row["eval/em"] === "number" && Number(row.step) <= step);
  if (last === undefined) return [];
  const { evalQuestions } = (await run.config()) ?? {};
  const files = [evalQuestions].flat().filter((path) => typeof path === "string");
  const set = files.map((path) => basename(path).replace(/\.(jsonl?|parquet)$/, "")).join(" + ");
  const scores = scoreNames.flatMap((name) => {
    const value = last[`eval/${name}`];
    return typeof value === "number" ? [{ name, value }] : [];
  });
  return [{ set: set || "evaluation", step: Number(last.step), scores }];
}
