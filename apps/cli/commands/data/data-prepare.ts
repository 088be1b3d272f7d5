/** `seekrl data prepare`: files of published question sets become SeekRL's questions, or parquet for verl. */
import { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import { contextCorpus } from "../../../../lib/data/contexts.ts";
import { writeJsonLines } from "../../../../lib/data/files/jsonl.ts";
import { formatNames, formats } from "../../../../lib/data/formats.ts";
import { type DataFile, type LeftOut, prepareQuestions } from "../../../../lib/data/prepare.ts";
import { type Question, writeQuestions } from "../../../../lib/data/question.ts";
import type { VerlOptions } from "../../../../lib/data/verl-parquet.ts";
import { documentsPrompt, memoryPrompt } from "../../../../lib/rollout/formats/plain-prompts.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { fetchedFile } from "../../fetch/fetched-file.ts";
import { chooseRecipe, recipeOptions } from "../../options/recipe-options.ts";

/** `NAME=FILE`, or the file alone. */
function inputOf(given: string, split: string | undefined): DataFile {
  const [, source, path = given] = /^([\w.-]+)=(.+)$/s.exec(given) ?? [];
  return { path, source, split };
}

const schema = z.strictObject({
  input: z
    .array(z.string())
    .min(1)
    .describe("file or address (hf://datasets/...), or NAME=FILE; ARCHIVE.zip/FILE for one of an archive"),
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
  contexts: z
    .string()
    .optional()
    .describe("file for the texts that stand with the questions: a corpus to index, each text once"),
  keepContexts: z
    .boolean()
    .default(false)
    .describe("leaves those texts with the questions, to be read as given"),
  cache: z.string().optional().describe("folder for files that are fetched or unpacked"),
  asks: z
    .enum(["search", "memory", "documents"])
    .default("search")
    .describe("of parquet: the recipe's prompt, one without a search, one with the texts of the question"),
  ...recipeOptions,
});

type Options = z.output<typeof schema>;

async function write(questions: readonly Question[], options: Options): Promise<void> {
  const { out, keepContexts } = options;
  if (out.endsWith(".parquet")) return writeParquet(questions, options);
  await writeQuestions(out, keepContexts ? questions : questions.map(withoutDocuments));
}

function withoutDocuments({ documents: _, ...question }: Question): Question {
  return question;
}

async function writeParquet(questions: readonly Question[], options: Options): Promise<void> {
  const { out } = options;
  if (questions.some(({ source }) => source === undefined))
    throw new UsageError("--input: expected NAME=FILE, because rows of parquet for verl name their data set");
  const { writeVerlParquet } = await import("../../../../lib/data/verl-parquet.ts");
  await writeVerlParquet(out, questions, { prompt: promptOf(options), layout: layoutOf(options) });
}

function layoutOf({ recipe }: Options): VerlOptions["layout"] {
  if (recipe.name === "research") return "research";
  return recipe.name === "rag-r1" && recipe.faithful ? "rag-r1" : "search-r1";
}

function promptOf({ asks, recipe }: Options): VerlOptions["prompt"] {
  if (asks === "memory") return memoryPrompt;
  if (asks === "search") return chooseRecipe(recipe).format.prompt;
  return (text, { id, documents = [] }) => {
    if (documents.length > 0) return documentsPrompt(text, documents);
    throw new SeekError("ERR_FORMAT", `question "${id}": expected documents for its prompt, got none`);
  };
}

function checkAsks({ asks, out, recipe }: Options): void {
  if (asks === "search") return;
  if (!out.endsWith(".parquet")) throw new UsageError("--asks: expected only with --out FILE.parquet");
  if (recipe.name === "research") throw new UsageError("--asks: the parquet of research has no prompts");
  if ("faithful" in recipe && recipe.faithful)
    throw new UsageError("--asks: of the originals only the prompts with a search are at hand");
}

/** Writes the texts of the questions as a corpus, and counts them. */
async function writeContexts(path: string, questions: readonly Question[]): Promise<number> {
  let count = 0;
  function* counted(): Generator<object> {
    for (const passage of contextCorpus(questions)) {
      count += 1;
      yield passage;
    }
  }
  await writeJsonLines(path, counted());
  return count;
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
    checkAsks(options);
    const { cache, contexts, keepContexts, asks } = options;
    const files: DataFile[] = [];
    for (const given of options.input) {
      const file = inputOf(given, options.split);
      files.push({ ...file, path: await fetchedFile(file.path, io, cache) });
    }
    const aliases = options.aliases && (await fetchedFile(options.aliases, io, cache));
    const documents = contexts !== undefined || keepContexts || asks === "documents";
    const { format, sample, seed, skipInvalid } = options;
    const { questions, leftOut } = await prepareQuestions(files, {
      ...{ format, aliases, documents, sample, seed, skipInvalid },
      signal: io.signal,
    });
    await write(questions, options);
    const passages = contexts === undefined ? undefined : await writeContexts(contexts, questions);
    report(leftOut, io);
    io.write(`${questions.length} questions in ${options.out}, ${leftOut.length} rows left out\n`);
    if (passages !== undefined) io.write(`${passages} passages in ${contexts}\n`);
    const result = { out: options.out, questions: questions.length, leftOut: countsOf(leftOut) };
    io.result({ ...result, ...(passages === undefined ? {} : { contexts, passages }) });
  },
});
