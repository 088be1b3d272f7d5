/** The files of a data set, in its own format, become one list of questions. */
import { checkOptions, type OptionKinds } from "../base/check-options.ts";
import { defined } from "../base/defined.ts";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import { mixSeed } from "../base/random.ts";
import { type Aliases, readAliases } from "./aliases.ts";
import { readDataRows } from "./files/rows.ts";
import { type Format, readRow } from "./format.ts";
import { type FormatName, formatNames, formatOf } from "./formats.ts";
import type { Question } from "./question.ts";

/** One file. */
export interface DataFile {
  readonly path: string;
  /** The name of the data set; with more than one file ids begin with it. */
  readonly source?: string | undefined;
  /** The format's rows go by this name of the part, for example "dev". */
  readonly split?: string | undefined;
}

/** How files become questions. */
export interface PrepareOptions {
  readonly format: FormatName;
  /** The file of aliases that 2WikiMultiHopQA has beside its questions. @default none */
  readonly aliases?: string | undefined;
  /** Take so many questions, drawn by the seed; their order stays. @default all */
  readonly sample?: number | undefined;
  /** @default 0 */
  readonly seed?: number | undefined;
  /** Questions keep the texts that stand with them. @default false */
  readonly documents?: boolean | undefined;
  /** Rows that are no questions are left out and reported instead of ending the work. @default false */
  readonly skipInvalid?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

const optionKinds: OptionKinds<PrepareOptions> = {
  format: "string",
  aliases: "string",
  sample: "number",
  seed: "number",
  documents: "boolean",
  skipInvalid: "boolean",
  signal: "signal",
};

/** A row that is not among the questions. */
export interface LeftOut {
  /** `file:line` or `file[index]`. */
  readonly where: string;
  readonly reason: string;
}

/** The questions, and the rows that are none of them. */
export interface Prepared {
  readonly questions: readonly Question[];
  readonly leftOut: readonly LeftOut[];
}

function named(question: Question, { source, split }: DataFile, isOneOfMany: boolean): Question {
  const set = source ?? question.source;
  const isNamed = !isOneOfMany || set === undefined || question.id.startsWith(`${set}/`);
  return defined({
    ...question,
    id: isNamed ? question.id : `${set}/${question.id}`,
    split: split ?? question.split,
    source: set,
  });
}

interface ReadOptions extends Pick<PrepareOptions, "documents" | "skipInvalid" | "signal"> {
  readonly format: Format;
  readonly aliases: Aliases | undefined;
  readonly isOneOfMany: boolean;
}

async function aliasesOf({ aliases: path, format: name }: PrepareOptions): Promise<Aliases | undefined> {
  if (path === undefined || formatOf(name).answerId !== undefined)
    return path === undefined ? undefined : readAliases(path);
  throw new SeekError(
    "ERR_ARGUMENT",
    `aliases: expected none, because ${name} has its aliases in its rows, got ${path}`,
  );
}

/** Questions of any number of files, each id once. */
class Collection {
  readonly questions: Question[] = [];
  readonly leftOut: LeftOut[] = [];
  readonly #places = new Map<string, string>();

  add(question: Question, where: string): void {
    const earlier = this.#places.get(question.id);
    if (earlier !== undefined)
      throw new SeekError(
        "ERR_FORMAT",
        `${where}: expected an id of its own, got "${question.id}" as ${earlier} has`,
      );
    this.#places.set(question.id, where);
    this.questions.push(question);
  }

  async read(file: DataFile, { format, aliases, isOneOfMany, ...options }: ReadOptions): Promise<void> {
    const { documents = false } = options;
    const own = documents && format.documents ? [format.documents.column] : [];
    const columns = [...format.columns, ...own];
    for await (const row of readDataRows(file.path, columns, { list: format.list })) {
      throwIfAborted(options.signal, file.path);
      try {
        const reason = format.leftOut?.(row);
        if (reason === undefined)
          this.add(named(readRow(row, format, { aliases, documents }), file, isOneOfMany), row.where);
        else this.leftOut.push({ where: row.where, reason });
      } catch (error) {
        if (options.skipInvalid !== true || !(error instanceof SeekError)) throw error;
        this.leftOut.push({ where: row.where, reason: error.message });
      }
    }
  }
}

/**
 * Some questions at random: those whose seeds are the smallest, so the choice depends on ids, not on the order of files.
 *
 * @param questions - all
 * @param count - how many of them
 * @param seed - of the draw
 * @returns those, in their order
 */
export function sampleQuestions(questions: readonly Question[], count: number, seed: number): Question[] {
  const keys = questions.map(({ id }, index) => ({ index, key: mixSeed(seed, id, 0) }));
  const chosen = keys.sort((a, b) => a.key - b.key || a.index - b.index).slice(0, count);
  return chosen
    .map(({ index }) => index)
    .sort((a, b) => a - b)
    .map((index) => questions[index] as Question);
}

/**
 * Reads files of a data set's own format as questions.
 *
 * @param files - all of one format
 * @param options - the format, and how many questions of all
 * @returns the questions in the order of the files, and the rows that were left out
 * @throws ERR_FORMAT naming file and row for a missing column, empty answers, an id that stands twice, or when no
 *   question is left; ERR_ARGUMENT for an unknown format; ERR_RANGE; ERR_IO; ERR_ABORTED
 * @example
 * const { questions } = await prepareQuestions([{ path: "questions.jsonl", split: "dev" }], { format: "seekrl" });
 * assert.equal(questions[0].split, "dev");
 */
export async function prepareQuestions(
  files: readonly DataFile[],
  options: PrepareOptions,
): Promise<Prepared> {
  checkOptions("prepareQuestions", options, optionKinds, ["format"]);
  const { sample, seed = 0 } = options;
  if (sample !== undefined && !(Number.isInteger(sample) && sample > 0))
    throw new SeekError("ERR_RANGE", `sample: expected an integer of at least 1, got ${sample}`);
  const all = new Collection();
  const format = formatOf(options.format);
  if (options.documents === true && format.documents === undefined) {
    const having = formatNames.filter((name) => formatOf(name).documents !== undefined).join(", ");
    throw new SeekError("ERR_ARGUMENT", `documents: expected only with ${having}, got ${options.format}`);
  }
  const aliases = await aliasesOf(options);
  for (const file of files)
    await all.read(file, { ...options, format, aliases, isOneOfMany: files.length > 1 });
  if (all.questions.length === 0) {
    const left = all.leftOut[0] === undefined ? "" : `, the first because: ${all.leftOut[0].reason}`;
    const paths = files.map(({ path }) => path).join(", ");
    throw new SeekError(
      "ERR_FORMAT",
      `${paths}: expected questions, got none (${all.leftOut.length} left out${left})`,
    );
  }
  const questions = sample === undefined ? all.questions : sampleQuestions(all.questions, sample, seed);
  return { questions, leftOut: all.leftOut };
}
