/** The figures of a file of results, with their intervals; counted once for as long as the file does not change. */
import { type FigureName, figureNames, intervalsOf, meansOf } from "../../../lib/evaluate/figures.ts";
import type { Interval } from "../../../lib/evaluate/statistics/bootstrap.ts";
import type { EvaluationFile, ResultHead } from "./evaluation-file.ts";

/** A mean over questions, and the ends of its interval; null where no question has a value. */
export interface Figure {
  readonly name: FigureName;
  readonly mean: number | null;
  readonly interval: Interval | null;
}

/** The figures over some rows. */
function figuresOf(file: EvaluationFile, rows: readonly number[]): Figure[] {
  if (rows.length === 0) return [];
  const results = rows.map((row) => scoresOf(file, row));
  const [means, intervals] = [meansOf(results), intervalsOf(results)];
  return figureNames.map((name) => ({ name, mean: means[name], interval: intervals[name] }));
}

/** What figures look at. */
function scoresOf(file: EvaluationFile, row: number): ResultHead {
  const names = ["em", "f1", "acc", "precision", "recall", "judge", "retrievalRecall"];
  const more = ["retrievalPrecision", "rounds", "generatedTokens", "observedTokens"];
  const numbers = [...names, ...more].map((name) => [name, file.number(name, row)] as const);
  const answer = file.hasAnswer(row) ? "" : null;
  return { ...Object.fromEntries(numbers), answer } as unknown as ResultHead;
}

/** Figures of a whole file and of each of its sets. */
interface FileFigures {
  readonly figures: readonly Figure[];
  /** Where there are several. */
  readonly bySet: readonly { readonly set: string; readonly figures: readonly Figure[] }[];
}

const counted = new WeakMap<EvaluationFile, { readonly key: string; readonly figures: FileFigures }>();

/** The figures of a file as far as it was read. */
export function fileFigures(file: EvaluationFile): FileFigures {
  const key = `${file.revision} ${file.numRows}`;
  const known = counted.get(file);
  if (known?.key === key) return known.figures;
  const all = Array.from({ length: file.numRows }, (_, row) => row);
  const sets = file.sets.texts.length < 2 ? [] : file.sets.texts;
  const figures = {
    figures: figuresOf(file, all),
    bySet: sets.map((set, number) => ({
      set,
      figures: figuresOf(
        file,
        all.filter((row) => file.place("set", row) === number),
      ),
    })),
  };
  counted.set(file, { key, figures });
  return figures;
}

/** The mean of one number over a file; null without any. */
export function meanIn(file: EvaluationFile, name: string): number | null {
  let [sum, count] = [0, 0];
  for (let row = 0; row < file.numRows; row += 1) {
    const value = file.number(name, row);
    if (value === null) continue;
    sum += value;
    count += 1;
  }
  return count === 0 ? null : sum / count;
}
