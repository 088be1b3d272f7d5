/** The formats of the published data sets, one row of a table each: where question, answers and id stand. */
import { SeekError } from "../base/errors.ts";
import { parseExactJson } from "../base/files/exact-json.ts";
import { hotpotDocuments, longBenchDocuments, musiqueDocuments } from "./contexts.ts";
import { has, idColumn, isObject, memberRow, shown, textsColumn } from "./files/columns.ts";
import { type JsonRow, rowError, textColumn } from "./files/jsonl.ts";
import type { Format } from "./format.ts";
import { questionColumns, questionFromRow } from "./question.ts";
import { verlAnswers, verlId, verlQuestion, verlSplit } from "./verl.ts";

const text =
  (column: string) =>
  (row: JsonRow): string =>
    textColumn(row, column);

const optional =
  (column: string) =>
  (row: JsonRow): string | undefined =>
    has(row, column) ? textColumn(row, column) : undefined;

const firstOf =
  (...columns: string[]) =>
  (row: JsonRow): string | undefined =>
    idColumn(row, columns);

/** The texts of the first column, which must be there, and of the others where they are. */
const texts =
  (first: string, ...others: string[]) =>
  (row: JsonRow): readonly string[] => [
    ...textsColumn(row, first),
    ...others.filter((column) => has(row, column)).flatMap((column) => textsColumn(row, column)),
  ];

/** HotpotQA and, with the same columns, 2WikiMultiHopQA. */
const hotpot = {
  columns: ["_id", "id", "question", "answer", "type"],
  id: firstOf("_id", "id"),
  question: text("question"),
  answers: texts("answer"),
  kind: optional("type"),
  documents: { column: "context", of: hotpotDocuments },
};

/** Null, or empty, for a yes or a number; the set's first edition has no such column. */
function wikiAnswerId(row: JsonRow): string | undefined {
  return row.value.answer_id === null ? undefined : textColumn(row, "answer_id");
}

function triviaAnswers(row: JsonRow): readonly string[] {
  const answer = memberRow(row, has(row, "Answer") ? "Answer" : "answer");
  return has(answer, "Value") ? texts("Value", "Aliases")(answer) : texts("value", "aliases")(answer);
}

/** PopQA keeps its aliases as a JSON list inside of a text. */
function popAnswers(row: JsonRow): readonly string[] {
  const written = textColumn(row, "possible_answers");
  let answers: unknown;
  try {
    answers = parseExactJson(written);
  } catch {
    throw rowError(row, `column "possible_answers": a JSON list`, shown(written));
  }
  return textsColumn({ ...row, value: { possible_answers: answers } }, "possible_answers");
}

const letterOf = (index: number): string => String.fromCharCode(65 + index);

/** The choices of a row with their letters: MedQA's own files have an object, BigBio's a list. */
function choicesOf(row: JsonRow): readonly (readonly [letter: string, choice: string])[] {
  if (has(row, "options")) {
    const options = memberRow(row, "options");
    // Parquet has every letter in every row, where there may be fewer choices.
    const letters = Object.keys(options.value).filter((letter) => has(options, letter));
    return letters.map((letter) => [letter, textColumn(options, letter)]);
  }
  return textsColumn(row, "choices").map((choice, index) => [letterOf(index), choice]);
}

function medQuestion(row: JsonRow): string {
  const lines = choicesOf(row).map(([letter, choice]) => `${letter}. ${choice}`);
  return [textColumn(row, "question"), "Options:", ...lines].join("\n");
}

/** The right choice, alone and with its letter; the letter alone stands for it too, since `choices` are kept. */
function medAnswers(row: JsonRow): readonly string[] {
  const choices = choicesOf(row);
  return textsColumn(row, "answer").flatMap((answer) => {
    const choice = choices.find(([, each]) => each === answer);
    if (choice === undefined) throw rowError(row, `column "answer": one of the choices`, shown(answer));
    // Signs beyond ASCII survive the normalisers, and a sign without a blank joins what it parts.
    return [answer, ...[". ", ".", "、", ":", "："].map((sign) => `${choice[0]}${sign}${answer}`)];
  });
}

/** FlashRAG's multiple-choice sets say which choices are right, the others what the answers are. */
function flashragAnswers(row: JsonRow): readonly string[] {
  if (!has(row, "choices")) return textsColumn(row, "golden_answers");
  const choices = textsColumn(row, "choices");
  const value = row.value.golden_answers;
  const indices: unknown[] = Array.isArray(value) ? value : [value];
  return indices.map((index) => {
    const choice = choices[Number(index)];
    if (choice !== undefined) return choice;
    throw rowError(row, `column "golden_answers": indices below ${choices.length}`, shown(value));
  });
}

function flashragKind({ value }: JsonRow): string | undefined {
  const type = isObject(value.metadata) ? value.metadata.type : undefined;
  return typeof type === "string" ? type : undefined;
}

/** The question answering subsets of LongBench. */
const longBenchSets = [
  "narrativeqa",
  "qasper",
  "multifieldqa_en",
  "multifieldqa_zh",
  "hotpotqa",
  "2wikimqa",
  "musique",
  "dureader",
];

function longBenchSet(row: JsonRow): string {
  const set = textColumn(row, "dataset");
  if (longBenchSets.includes(set)) return set;
  throw rowError(row, `column "dataset": one of ${longBenchSets.join(", ")}`, set);
}

/** Every format by its name. */
export const formats = {
  seekrl: {
    about: "SeekRL's own questions",
    columns: questionColumns.filter((column) => column !== "documents"),
    id: firstOf("id"),
    question: text("question"),
    answers: (row) => questionFromRow(row).answers,
    mayBeUnanswerable: true,
    kind: optional("kind"),
    split: optional("split"),
    source: optional("source"),
    choices: (row) => questionFromRow(row).choices,
    documents: { column: "documents", of: (row) => questionFromRow(row).documents ?? [] },
  },
  hotpotqa: { about: "HotpotQA's JSON files, and their parquet on the hub", ...hotpot },
  "2wikimultihopqa": {
    about: "2WikiMultiHopQA's JSON files; aliases stand in a file of their own",
    ...hotpot,
    columns: [...hotpot.columns, "answer_id"],
    answerId: wikiAnswerId,
  },
  musique: {
    about: "MuSiQue's JSON Lines, with aliases; questions without an answer are left out",
    columns: ["id", "question", "answer", "answer_aliases", "answerable"],
    id: firstOf("id"),
    question: text("question"),
    answers: texts("answer", "answer_aliases"),
    documents: { column: "paragraphs", of: musiqueDocuments },
    leftOut: ({ value }) => (value.answerable === false ? "unanswerable" : undefined),
  },
  bamboogle: {
    about: "Bamboogle's CSV",
    columns: ["Question", "Answer"],
    question: text("Question"),
    answers: texts("Answer"),
  },
  nq: {
    about: "Natural Questions in the open form: a question and a list of answers",
    columns: ["id", "question", "answer"],
    id: firstOf("id"),
    question: text("question"),
    answers: texts("answer"),
  },
  triviaqa: {
    about: "TriviaQA's JSON files, and their parquet on the hub, with aliases",
    columns: ["QuestionId", "question_id", "Question", "question", "Answer", "answer"],
    id: firstOf("QuestionId", "question_id"),
    list: "Data",
    question: (row) => textColumn(row, has(row, "Question") ? "Question" : "question"),
    answers: triviaAnswers,
    leftOut: ({ value }) =>
      isObject(value.answer) && value.answer.value === "<unk>" ? "answer not published" : undefined,
  },
  popqa: {
    about: "PopQA's TSV, with aliases",
    columns: ["id", "question", "possible_answers", "prop"],
    id: firstOf("id"),
    question: text("question"),
    answers: popAnswers,
    kind: optional("prop"),
  },
  medqa: {
    about: "MedQA's JSON Lines, and BigBio's form of them; the question ends with its choices",
    columns: ["id", "question_id", "question", "options", "choices", "answer"],
    id: firstOf("id", "question_id"),
    question: medQuestion,
    answers: medAnswers,
    choices: (row) => choicesOf(row).map(([, choice]) => choice),
  },
  longbench: {
    about: "LongBench's eight sets of question answering",
    columns: ["_id", "input", "answers", "dataset"],
    id: firstOf("_id"),
    question: text("input"),
    answers: texts("answers"),
    source: longBenchSet,
    documents: { column: "context", of: longBenchDocuments },
  },
  asearcher: {
    about: "ASearcher's parquet and JSON Lines",
    columns: ["id", "qid", "idx", "question", "answer", "source"],
    id: firstOf("id", "qid", "idx"),
    question: text("question"),
    answers: texts("answer"),
    source: optional("source"),
  },
  flashrag: {
    about: "FlashRAG's JSON Lines; of choices, those that are right",
    columns: ["id", "question", "golden_answers", "choices", "metadata"],
    id: firstOf("id"),
    question: text("question"),
    answers: flashragAnswers,
    mayBeUnanswerable: true,
    kind: flashragKind,
  },
  verl: {
    about: "parquet for verl: RAG-R1's, Search-R1's and ReSearch's",
    columns: ["id", "question", "golden_answers", "data_source", "prompt", "reward_model", "extra_info"],
    id: verlId,
    question: verlQuestion,
    answers: verlAnswers,
    split: verlSplit,
    source: optional("data_source"),
  },
  "r1-searcher": {
    about: "R1-Searcher's JSON Lines",
    columns: ["idx", "question", "answer"],
    id: firstOf("idx"),
    question: text("question"),
    answers: texts("answer"),
  },
} as const satisfies Readonly<Record<string, Format>>;

/** The name of a format. */
export type FormatName = keyof typeof formats;

/** The names, in the order of the table. */
export const formatNames = Object.keys(formats) as [FormatName, ...FormatName[]];

/** The format of that name. @throws ERR_ARGUMENT listing those there are */
export function formatOf(name: string): Format {
  const format: Format | undefined = Object.hasOwn(formats, name) ? formats[name as FormatName] : undefined;
  if (format !== undefined) return format;
  throw new SeekError("ERR_ARGUMENT", `format: expected one of ${formatNames.join(", ")}, got ${name}`);
}
