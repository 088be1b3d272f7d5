/** Scores a file of predictions by a system's own metric rules; no model is needed. */
import { SeekError } from "../base/errors.ts";
import { type JsonRow, readJsonRows, rowError, writtenText } from "../data/files/jsonl.ts";
import { answerMeant, questionFromRow } from "../data/question.ts";
import type { FaithfulOption } from "../reward/metrics/plain-score.ts";
import { type AnswerScores, type RulesName, scoreAnswer } from "../reward/metrics/rules.ts";
import { isRolloutRow, type LoggedAnswer, rolloutAnswer } from "./rollout-row.ts";

/** One prediction and its scores. */
export interface ScoredAnswer extends AnswerScores {
  readonly id: string;
  readonly question: string;
  readonly answers: readonly string[];
  readonly prediction: string;
}

/** Means over a file of predictions; `n` is how many there were. */
interface AnswerMeans extends AnswerScores {
  readonly n: number;
}

/** The totals of SQuAD 2.0's script, by its names but from 0 to 1: of questions with an answer, and of those without. */
interface AnswerableTotals {
  readonly HasAns_exact: number;
  readonly HasAns_f1: number;
  readonly HasAns_total: number;
  readonly NoAns_exact: number;
  readonly NoAns_f1: number;
  readonly NoAns_total: number;
}

const predictionColumns = ["pred_ans", "prediction", "pred"] as const;

/**
 * Scores every prediction of a JSON Lines file, or of one array. A row has a `question`, the
 * accepted answers as `answer`, `answers` or `golden_answers` (a text or a list), and the prediction as `pred_ans`,
 * `prediction` or `pred`; rows that `seekrl eval` wrote have it as `answer`. A prediction of null is an empty answer,
 * which is right where the list of accepted answers is empty. A row of a rollout log of ReSearch and its relatives,
 * `{sequences_str, ground_truth}`, counts the last `<answer>` of its reply.
 *
 * @param path - the file
 * @param rules - whose rules
 * @param options - as those of `scoreAnswer`
 * @returns the scores, row by row
 * @throws ERR_IO when the file cannot be read, ERR_FORMAT (with file:line) when a row lacks something
 */
export async function* scoreAnswers(
  path: string,
  rules: RulesName,
  options?: FaithfulOption,
): AsyncGenerator<ScoredAnswer> {
  for await (const row of readJsonRows(path)) {
    const { id, question, answers, prediction, meant } = answeredIn(row);
    yield { id, question, answers, prediction, ...scoreAnswer(meant, answers, rules, options) };
  }
}

function answeredIn(row: JsonRow): LoggedAnswer & { readonly meant: string } {
  if (isRolloutRow(row)) {
    const logged = rolloutAnswer(row);
    return { ...logged, meant: logged.prediction };
  }
  const question = questionFromRow(row);
  const prediction = predictionOf(row);
  return { ...question, prediction, meant: answerMeant(question, prediction) };
}

function predictionOf(row: JsonRow): string {
  // Beside `answers`, `answer` is what was answered.
  const columns = row.value.answers === undefined ? predictionColumns : [...predictionColumns, "answer"];
  const column = columns.find((name) => row.value[name] !== undefined);
  if (column === undefined) {
    const present = Object.keys(row.value).join(", ");
    throw rowError(row, `column "pred_ans" or "prediction"`, `columns ${present}`);
  }
  const value = row.value[column];
  if (value === null) return "";
  const text = writtenText(value);
  if (text === undefined) throw rowError(row, `column "${column}": text or a number`, JSON.stringify(value));
  return text;
}

/**
 * The means of some scores.
 *
 * @param scores - one per prediction
 * @returns the means and how many there were
 * @throws ERR_ARGUMENT without any
 */
export function meanScores(scores: readonly AnswerScores[]): AnswerMeans {
  if (scores.length === 0) {
    throw new SeekError("ERR_ARGUMENT", "predictions: expected at least one, got none");
  }
  const mean = (name: keyof AnswerScores): number => {
    return scores.reduce((sum, each) => sum + each[name], 0) / scores.length;
  };
  return {
    n: scores.length,
    em: mean("em"),
    f1: mean("f1"),
    acc: mean("acc"),
    precision: mean("precision"),
    recall: mean("recall"),
    coverEm1: mean("coverEm1"),
    coverEm2: mean("coverEm2"),
  };
}

/**
 * Exact match and F1 of answerable and unanswerable questions apart.
 *
 * @param scored - one per prediction
 * @returns undefined where every question has an answer; a mean over no question is 0
 */
export function answerableTotals(scored: readonly ScoredAnswer[]): AnswerableTotals | undefined {
  const without = scored.filter(({ answers }) => answers.length === 0);
  if (without.length === 0) return undefined;
  const having = scored.filter(({ answers }) => answers.length > 0);
  const mean = (of: readonly ScoredAnswer[], name: "em" | "f1"): number =>
    of.reduce((sum, each) => sum + each[name], 0) / Math.max(1, of.length);
  return {
    HasAns_exact: mean(having, "em"),
    HasAns_f1: mean(having, "f1"),
    HasAns_total: having.length,
    NoAns_exact: mean(without, "em"),
    NoAns_f1: mean(without, "f1"),
    NoAns_total: without.length,
  };
}
