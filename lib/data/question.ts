/** Questions with their accepted answers, and the JSON shapes they come in. */
import { shownValue } from "../base/check-options.ts";
import { defined } from "../base/defined.ts";
import { SeekError } from "../base/errors.ts";
import type { TitledText } from "../text/observation.ts";
import { shown } from "./files/columns.ts";
import { type JsonRow, rowError, textColumn, writeJsonLines, writtenText } from "./files/jsonl.ts";
import { readDataRows } from "./files/rows.ts";

/** One question. `answers` are the accepted strings (aliases); none where the right answer is to give none (SQuAD 2.0). */
export interface Question {
  readonly id: string;
  readonly question: string;
  readonly answers: readonly string[];
  /** What sort of question it is, for example "bridge" or "comparison". */
  readonly kind?: string;
  /** Which part of a data set it belongs to, for example "train". */
  readonly split?: string;
  /** Which data set it comes from, for example "nq". */
  readonly source?: string;
  /** What may be chosen from, in order; a letter alone, A for the first, then stands for its choice. */
  readonly choices?: readonly string[];
  /** Texts that stand with the question, for example HotpotQA's ten paragraphs or LongBench's context. */
  readonly documents?: readonly TitledText[];
}

/** A data set's name and questions. */
export interface QuestionSet {
  readonly name: string;
  readonly questions: readonly Question[];
}

/**
 * Refuses what is no question, for callers without types.
 *
 * @throws ERR_ARGUMENT naming the first
 */
export function checkQuestions(name: string, questions: readonly Question[]): void {
  const wrong = questions.findIndex(
    (each) =>
      typeof each?.question !== "string" || typeof each.id !== "string" || !Array.isArray(each.answers),
  );
  if (wrong < 0) return;
  const got = shownValue(questions[wrong]);
  throw new SeekError("ERR_ARGUMENT", `${name}[${wrong}]: expected {id, question, answers}, got ${got}`);
}

const answerColumns = ["answers", "golden_answers", "answer"] as const;

function answersOf(row: JsonRow): string[] {
  const name = answerColumns.find((column) => row.value[column] !== undefined);
  if (name === undefined) throw rowError(row, `column "answers" or "golden_answers"`, "neither");
  const value = row.value[name];
  const given: unknown[] = Array.isArray(value) ? value : [value];
  const answers = given.map(writtenText).filter((answer) => answer !== undefined);
  if (answers.length === given.length) return answers;
  throw rowError(row, `column "${name}": texts or numbers, one or a list`, shown(value));
}

function questionOf(row: JsonRow): string {
  const question = textColumn(row, "question");
  if (question.trim() === "") throw rowError(row, `column "question": a question`, JSON.stringify(question));
  return question;
}

function optional(row: JsonRow, column: "kind" | "split" | "source"): string | undefined {
  return row.value[column] === undefined || row.value[column] === null ? undefined : textColumn(row, column);
}

function choicesOf(row: JsonRow): readonly string[] | undefined {
  const { choices } = row.value;
  if (choices === undefined || choices === null) return undefined;
  const texts = Array.isArray(choices) ? choices.map(writtenText).filter((text) => text !== undefined) : [];
  if (Array.isArray(choices) && texts.length === choices.length) return texts;
  throw rowError(row, `column "choices": a list of texts`, shown(choices));
}

/**
 * What an answer says to a question: of one with choices, a letter alone is the choice that it stands for.
 *
 * @param question - its choices, if it has some
 * @param answer - as it was given
 * @example
 * const choices = ["two hours", "a day"];
 * assert.deepEqual(["(B)", "B.", "b", "BB"].map((each) => answerMeant({ choices }, each)), ["a day", "a day", "a day", "BB"]);
 */
export function answerMeant({ choices }: Pick<Question, "choices">, answer: string): string {
  const [, letter] = /^[\s([（【]*([A-Za-z])[\s)\].:：。、）】]*$/.exec(answer) ?? [];
  if (letter === undefined) return answer;
  return choices?.[letter.toUpperCase().charCodeAt(0) - "A".charCodeAt(0)] ?? answer;
}

function documentsOf(row: JsonRow): readonly TitledText[] | undefined {
  const { documents } = row.value;
  if (documents === undefined || documents === null) return undefined;
  if (!Array.isArray(documents)) throw rowError(row, `column "documents": a list`, JSON.stringify(documents));
  return documents.map((each: unknown, i) => {
    if (typeof each !== "object" || each === null)
      throw rowError(row, `column "documents": objects of title and text`, JSON.stringify(each));
    const where = `${row.where}, documents[${i}]`;
    const member = { value: each as Record<string, unknown>, index: row.index, where };
    return { title: textColumn(member, "title"), text: textColumn(member, "text") };
  });
}

/**
 * Turns one JSON row into a question: our own shape, or the `{question, golden_answers}` of RAG-R1 and FlashRAG, whose
 * answers are one string or a list; an empty list is a question without an answer, as SQuAD 2.0 has them. A row without `id` is named after its position: `<prefix><index>`.
 *
 * @throws ERR_FORMAT naming file, line and column
 */
export function questionFromRow(row: JsonRow, prefix = "q"): Question {
  return defined({
    id: row.value.id === undefined || row.value.id === null ? `${prefix}${row.index}` : textColumn(row, "id"),
    question: questionOf(row),
    answers: answersOf(row),
    kind: optional(row, "kind"),
    split: optional(row, "split"),
    source: optional(row, "source"),
    choices: choicesOf(row),
    documents: documentsOf(row),
  });
}

/** The columns that {@link questionFromRow} looks at. */
export const questionColumns = [
  "id",
  "question",
  ...answerColumns,
  "kind",
  "split",
  "source",
  "choices",
  "documents",
];

/**
 * Reads questions one by one from a JSON Lines file, from one JSON array, or from a parquet, CSV or TSV file with the
 * same columns, as those of RAG-R1, Search-R1 and ASearcher.
 *
 * @param path the file; one array, or one object per line; `.parquet`, `.csv` and `.tsv` are what they say
 * @returns the questions in file order
 * @throws ERR_IO when the file cannot be read, ERR_FORMAT (with its place) when a row is not a question
 * @example
 * for await (const { question, answers } of readQuestions("questions.jsonl")) console.log(question, answers);
 */
export async function* readQuestions(path: string): AsyncGenerator<Question> {
  for await (const row of readDataRows(path, questionColumns)) yield questionFromRow(row);
}

/** Writes questions as JSON Lines, whole or not at all. @throws ERR_IO */
export async function writeQuestions(
  path: string,
  questions: Iterable<Question> | AsyncIterable<Question>,
): Promise<void> {
  await writeJsonLines(path, questions);
}
