/** The file of an evaluation: one JSON line per question, on the disk before the question counts as finished. */
import { SeekError } from "../base/errors.ts";
import { type JsonRow, rowError } from "../data/files/jsonl.ts";
import { ProgressLog, type ProgressLogOptions } from "../data/logs/progress-log.ts";
import { figureNames } from "./figures.ts";
import type { QuestionResult } from "./question-result.ts";

/** Results of questions, each on the disk before it counts. */
export class ResultLog {
  /** What an earlier run had finished. */
  readonly kept: readonly QuestionResult[];
  readonly #log: ProgressLog;

  private constructor(log: ProgressLog, kept: readonly QuestionResult[]) {
    this.#log = log;
    this.kept = kept;
  }

  /**
   * Opens a file, emptied unless it is continued. A last line that a kill cut short is dropped.
   *
   * @throws ERR_IO; ERR_FORMAT when a file to be continued has other settings, or holds something else
   */
  static async open(path: string, options: ProgressLogOptions): Promise<ResultLog> {
    const log = await ProgressLog.open(path, options);
    try {
      return new ResultLog(log, log.kept.map(keptResult));
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** Adds a result; done when it is on the disk. @throws ERR_IO */
  add(result: QuestionResult): Promise<void> {
    return this.#log.add(result);
  }

  /** Gives the file back after the last result. */
  close(): Promise<void> {
    return this.#log.close();
  }
}

function keptResult(row: JsonRow): QuestionResult {
  const numbers = [...figureNames, "index", "seconds", "elapsedSeconds"] as const;
  const wrong = numbers.find((name) => name in row.value && !isNumber(row.value[name]));
  if (wrong !== undefined) throw rowError(row, `"${wrong}": a number`, JSON.stringify(row.value[wrong]));
  return row.value as unknown as QuestionResult;
}

const isNumber = (value: unknown): boolean => typeof value === "number" || value === null;

/** The results of one set by index. @throws ERR_ARGUMENT when one is of another question than stands there now */
export function keptOf(
  kept: readonly QuestionResult[],
  set: string,
  questions: readonly { readonly id: string; readonly question: string }[],
): Map<number, QuestionResult> {
  const own = kept.filter((result) => result.set === set);
  for (const { index, id, question } of own) {
    const now = questions[index];
    if (now?.id === id && now.question === question) continue;
    const actual = now === undefined ? "none" : `"${now.id}"`;
    throw new SeekError(
      "ERR_ARGUMENT",
      `questions: expected "${id}" as number ${index} of ${set}, as in the run to be resumed, got ${actual}`,
    );
  }
  return new Map(own.map((result) => [result.index, result]));
}
