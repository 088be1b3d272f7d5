/** Two files of results over the same questions: which lines belong together, and how far the files are apart. */
import { SeekError } from "../../../lib/base/errors.ts";
import { differenceOf } from "../../../lib/evaluate/compare.ts";
import { signTest } from "../../../lib/evaluate/statistics/sign-test.ts";
import { type EvaluationFile, resultNumbers } from "../../runs/evaluations/evaluation-file.ts";
import type { EvaluationComparison, MeasureDifference } from "../api.ts";

/** Rows of the first file and of the second. */
export type RowPair = readonly [first: number, second: number];

/** What a question is known by in every file. */
function keyOf(file: EvaluationFile, row: number): string {
  const [set, id, question] = [file.sets, file.ids, file.questions].map((names, i) => {
    const name = (["set", "id", "question"] as const)[i]!;
    return names.texts[file.place(name, row)];
  });
  return JSON.stringify([set, id, question]);
}

/**
 * The rows of the same questions, in the order of the first file.
 *
 * @throws ERR_STATE when the questions are not the same
 */
export function pairsOf(first: EvaluationFile, second: EvaluationFile): RowPair[] {
  const rows = new Map<string, number>();
  for (let row = 0; row < second.numRows; row += 1) rows.set(keyOf(second, row), row);
  const pairs: RowPair[] = [];
  for (let row = 0; row < first.numRows; row += 1) {
    const other = rows.get(keyOf(first, row));
    if (other !== undefined) pairs.push([row, other]);
  }
  if (pairs.length === first.numRows && pairs.length === second.numRows && pairs.length > 0) return pairs;
  const counts = `${first.numRows} and ${second.numRows} questions, ${pairs.length} of them the same`;
  throw new SeekError("ERR_STATE", `evaluations: expected two over the same questions, got ${counts}`);
}

/** How far two files are apart, as `seekrl eval compare` tells it. @throws ERR_STATE as {@link pairsOf} */
export function comparisonOf(
  first: EvaluationFile,
  second: EvaluationFile,
): Pick<EvaluationComparison, "questions" | "differences" | "mcnemar"> {
  const pairs = pairsOf(first, second);
  const columnsOf = (name: string): readonly [number[], number[]] => {
    const values = pairs.map(([a, b]) => [first.number(name, a), second.number(name, b)] as const);
    const both = values.filter((pair): pair is [number, number] => pair[0] !== null && pair[1] !== null);
    return [both.map(([value]) => value), both.map(([, value]) => value)];
  };
  const differences = resultNumbers.flatMap((name): MeasureDifference[] => {
    const [a, b] = columnsOf(name);
    return a.length === 0 ? [] : [{ name, ...differenceOf(a, b) }];
  });
  return { questions: pairs.length, differences, mcnemar: signTest(...columnsOf("em")) };
}
