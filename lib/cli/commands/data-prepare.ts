/** `seekrl data prepare`: files of published question sets become SeekRL's questions, or parquet for verl. */
import { z } from "zod";
import { formatNames, formats } from "../../data/formats.ts";
import { type DataFile, type LeftOut, prepareQuestions } from "../../data/prepare.ts";
import { type Question, writeQuestions } from "../../data/question.ts";
import { type CommandIo, command, UsageError } from "../command.ts";
import { fetchedFile } from "../fetched-file.ts";
import { chooseRecipe, noChoices, recipeOptions } from "../recipe-options.ts";

/** `NAME=FILE`, or the file alone. */
function inputOf(given: string, split: string | undefined): DataFile {
  const [, source, path = given] = /^([\w.-]+)=(.+)$/s.exec(given) ?? [];
  return { path, source, split };
}

const schema = z.strictObject({
  input: z.array(z.string()).min(1).describe("file or address (hf://datasets/...), or NAME=FILE"),
  format: z.enum(formatNames).describe("of the files; docs/data.md says what each is"),
  out: z.string().describe("file to write: .jsonl, or .parquet for verl"),
  split: z.string().optional().describe("name of the part, such as train"),
  sample: z.int().min(1).optional().describe("take so many questions at random"),
  seed: z.int().min(0).default(0).describe("of the sample"),
  aliases: z.string().optional().describe("of 2wikimultihopqa: its id_aliases.json"),
  skipInvalid: z
    .boolean()
    .default(false)
    .describe("leaves rows out that are no questions, instead of ending"),
  cache: z.string().optional().describe("folder for files that are fetched"),
  recipe: recipeOptions.recipe.describe("whose parquet is written: its prompt and columns"),
  queries: recipeOptions.queries,
  faithful: recipeOptions.faithful,
});

type Options = z.output<typeof schema>;

async function write(questions: readonly Question[], options: Options): Promise<void> {
  const { out, recipe, queries, faithful } = options;
  if (!out.endsWith(".parquet")) return writeQuestions(out, questions);
  if (questions.some(({ source }) => source === undefined))
    throw new UsageError("--input: expected NAME=FILE, because rows of parquet for verl name their data set");
  const { prompt } = chooseRecipe({ ...noChoices, recipe, queries, faithful }).format;
  const { writeVerlParquet } = await import("../../data/verl-parquet.ts");
  await writeVerlParquet(out, questions, {
    prompt,
    layout: recipe === "research" ? "research" : "search-r1",
  });
}

const kShownRows = 5;

function report(leftOut: readonly LeftOut[], io: CommandIo): void {
  for (const { where, reason } of leftOut.slice(0, kShownRows))
    io.log(reason.startsWith(where) ? `left out: ${reason}` : `left out: ${where}: ${reason}`);
  if (leftOut.length > kShownRows) io.log(`left out: ${leftOut.length - kShownRows} more`);
}

/** How many rows were left out for each reason that is not a row's own fault. */
function countsOf(leftOut: readonly LeftOut[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { where, reason } of leftOut) {
    const key = reason.startsWith(where) ? "invalid" : reason;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** The command. */
export const dataPrepareCommand = command({
  name: "data prepare",
  summary: `turns question sets (${Object.keys(formats).slice(1, 4).join(", ")}, ...) into questions`,
  options: schema,
  run: async (options, io) => {
    const files: DataFile[] = [];
    for (const given of options.input) {
      const file = inputOf(given, options.split);
      files.push({ ...file, path: await fetchedFile(file.path, io, options.cache) });
    }
    const { questions, leftOut } = await prepareQuestions(files, { ...options, signal: io.signal });
    await write(questions, options);
    report(leftOut, io);
    io.write(`${questions.length} questions in ${options.out}, ${leftOut.length} rows left out\n`);
    io.result({ out: options.out, questions: questions.length, leftOut: countsOf(leftOut) });
  },
});
