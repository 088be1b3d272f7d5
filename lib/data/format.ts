/** What a format of questions is, and the question that a row of one is. */
import { defined } from "../base/defined.ts";
import type { TitledText } from "../text/observation.ts";
import type { Aliases } from "./aliases.ts";
import { type JsonRow, rowError } from "./files/jsonl.ts";
import type { Question } from "./question.ts";

/** How the rows of a format become questions. */
export interface Format {
  /** Whose files these are. */
  readonly about: string;
  /** The columns that are looked at; of a parquet file no others are read. */
  readonly columns: readonly string[];
  readonly question: (row: JsonRow) => string;
  /** The answer and its aliases; blank ones and repetitions are dropped by the caller. */
  readonly answers: (row: JsonRow) => readonly string[];
  /** Whether an empty list of answers says that the right answer is to give none. @default false: it is an error */
  readonly mayBeUnanswerable?: boolean;
  /** Undefined when the row has none. @default no row has one */
  readonly id?: (row: JsonRow) => string | undefined;
  /** What the answer names, for aliases in a file of their own; undefined for a yes or a number. */
  readonly answerId?: (row: JsonRow) => string | undefined;
  readonly kind?: (row: JsonRow) => string | undefined;
  readonly split?: (row: JsonRow) => string | undefined;
  /** The data set, where the rows say it. */
  readonly source?: (row: JsonRow) => string | undefined;
  /** The member that holds the rows when a JSON file is one object. */
  readonly list?: string;
  /** The texts that stand with the question, and their column. @default no row has any */
  readonly documents?: { readonly column: string; readonly of: (row: JsonRow) => readonly TitledText[] };
  /** The choices of a question that has some, in order. */
  readonly choices?: (row: JsonRow) => readonly string[] | undefined;
  /** Why a row is no question to train or evaluate on. */
  readonly leftOut?: (row: JsonRow) => string | undefined;
}

/**
 * The question that a row of a format is.
 *
 * @param row - with its place
 * @param format - of the file
 * @param options - `aliases` of the format's answers, where they stand in a file of their own; whether to keep `documents`
 * @throws ERR_FORMAT naming file, row and column; also when question or answers are blank
 */
export function readRow(
  row: JsonRow,
  format: Format,
  {
    aliases,
    documents = false,
  }: { readonly aliases?: Aliases | undefined; readonly documents?: boolean } = {},
): Question {
  const question = format.question(row);
  if (question.trim() === "") throw rowError(row, "a question", "an empty one");
  const others = aliases?.get(format.answerId?.(row) ?? "") ?? [];
  const given = format.answers(row);
  const answers = [...new Set([...given, ...others])].filter((answer) => answer.trim() !== "");
  const isUnanswerable = format.mayBeUnanswerable === true && given.length === 0;
  if (answers.length === 0 && !isUnanswerable)
    throw rowError(row, "at least one answer", "none, or empty ones");
  return defined({
    id: format.id?.(row) ?? `q${row.index}`,
    question,
    answers,
    kind: format.kind?.(row),
    split: format.split?.(row),
    source: format.source?.(row),
    choices: format.choices?.(row),
    documents: documents ? format.documents?.of(row) : undefined,
  });
}
