/** Questions as parquet files that verl trains on, laid out as RAG-R1 and Search-R1 or as ReSearch write them. */
import type { SchemaElement } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { SeekError } from "../base/errors.ts";
import { writeFileAtomic } from "../base/files/files.ts";
import type { Question } from "./question.ts";

/** How the rows look. */
export interface VerlOptions {
  /**
   * `search-r1` has prompts and lists of answers; `rag-r1` the same without ids and with one answer as a text, the types of
   * RAG-R1's own files; `research` leaves prompts to the training. @default "search-r1"
   */
  readonly layout?: "search-r1" | "rag-r1" | "research";
  /** The user's message that asks a question; not of `research`. */
  readonly prompt: (text: string, question: Question) => string;
}

const text = (name: string): SchemaElement => ({
  name,
  type: "BYTE_ARRAY",
  converted_type: "UTF8",
  repetition_type: "OPTIONAL",
});

const group = (name: string, numChildren: number): SchemaElement => ({
  name,
  num_children: numChildren,
  repetition_type: "OPTIONAL",
});

const list = (name: string, element: readonly SchemaElement[]): SchemaElement[] => [
  { ...group(name, 1), converted_type: "LIST" },
  { name: "list", num_children: 1, repetition_type: "REPEATED" },
  ...element,
];

const textList = (name: string): SchemaElement[] => list(name, [text("element")]);
const index: SchemaElement = { name: "index", type: "INT64", repetition_type: "OPTIONAL" };

/** A column: its part of the schema, and its value in the row of a question. */
interface Column {
  readonly schema: readonly SchemaElement[];
  readonly value: (question: Question, index: number) => unknown;
}

const shared: readonly Column[] = [
  { schema: [text("id")], value: ({ id }) => id },
  { schema: [text("question")], value: ({ question }) => question },
  { schema: [text("data_source")], value: ({ source }) => source },
];

/** How accepted answers stand in a row: as a list, or as the one text there is. */
interface AnswerForm {
  readonly schema: (name: string) => SchemaElement[];
  readonly value: (question: Question) => unknown;
}

const listForm: AnswerForm = { schema: textList, value: ({ answers }) => answers };
const textForm: AnswerForm = { schema: (name) => [text(name)], value: ({ answers }) => answers[0] };

const searchColumns = (prompt: VerlOptions["prompt"], { schema, value }: AnswerForm): readonly Column[] => [
  ...shared,
  { schema: schema("golden_answers"), value },
  {
    schema: list("prompt", [group("element", 2), text("content"), text("role")]),
    value: (question) => [{ content: prompt(question.question, question), role: "user" }],
  },
  { schema: [text("ability")], value: () => "fact-reasoning" },
  {
    schema: [group("reward_model", 2), group("ground_truth", 1), ...schema("target"), text("style")],
    value: (question) => ({ ground_truth: { target: value(question) }, style: "rule" }),
  },
  {
    schema: [group("extra_info", 2), index, text("split")],
    value: ({ split }, at) => ({ index: BigInt(at), split: split ?? null }),
  },
];

const reSearchColumns: readonly Column[] = [
  ...shared,
  { schema: [text("ability")], value: () => "qa" },
  {
    schema: [group("reward_model", 2), ...textList("ground_truth"), text("style")],
    value: ({ answers }) => ({ ground_truth: answers, style: "rule" }),
  },
  {
    schema: [group("extra_info", 2), text("id"), text("split")],
    value: ({ id, split }) => ({ id, split: split ?? null }),
  },
];

/**
 * Writes questions as a parquet file for verl, whole or not at all. `index` runs over the whole file, so that no two rows
 * of merged sets share one (Search-R1's restarts with each set, and GRPO's groups are told apart by it).
 *
 * @param path - the file
 * @param questions - each with a `source`, which becomes `data_source`
 * @param options - layout and prompt
 * @throws ERR_ARGUMENT naming a question without a source, or without exactly one answer for RAG-R1's layout; ERR_IO
 */
export async function writeVerlParquet(
  path: string,
  questions: readonly Question[],
  { layout = "search-r1", prompt }: VerlOptions,
): Promise<void> {
  const nameless = questions.find(({ source }) => source === undefined);
  if (nameless !== undefined)
    throw new SeekError(
      "ERR_ARGUMENT",
      `question "${nameless.id}": expected a source for data_source, got none`,
    );
  const several = questions.find(({ answers }) => layout === "rag-r1" && answers.length !== 1);
  if (several !== undefined) {
    const got = `question "${several.id}": expected one answer for RAG-R1's layout, got ${several.answers.length}`;
    throw new SeekError("ERR_ARGUMENT", got);
  }
  const columns = columnsOf(layout, prompt);
  const columnData = columns.map(({ schema, value }) => ({
    name: schema[0]?.name ?? "",
    data: questions.map(value),
  }));
  const root: SchemaElement = { name: "schema", num_children: columns.length };
  const schema = [root, ...columns.flatMap((column) => column.schema)];
  await writeFileAtomic(path, new Uint8Array(parquetWriteBuffer({ columnData, schema })));
}

function columnsOf(
  layout: Required<VerlOptions>["layout"],
  prompt: VerlOptions["prompt"],
): readonly Column[] {
  if (layout === "research") return reSearchColumns;
  // The first column is the id.
  return layout === "rag-r1" ? searchColumns(prompt, textForm).slice(1) : searchColumns(prompt, listForm);
}
