/** A file of results, read while it is written: numbers of each question in columns, lines by their offsets. */
import { stat } from "node:fs/promises";
import { SeekError } from "../../../lib/base/errors.ts";
import { parseRow } from "../../../lib/data/files/jsonl.ts";
import type { QuestionResult } from "../../../lib/evaluate/question-result.ts";
import { Column } from "../logs/column.ts";
import { LineLog } from "../logs/line-log.ts";
import { Names } from "../logs/names.ts";
import { holderOf } from "../run-lock.ts";

/** What a line says before its segments. */
export type ResultHead = Omit<QuestionResult, "segments">;

/** The numbers of a question. NaN stands for one that it does not have. */
export const resultNumbers = [
  ...["em", "f1", "acc", "precision", "recall", "judge", "retrievalRecall", "retrievalPrecision"],
  ...["rounds", "generatedTokens", "observedTokens", "seconds"],
] as const;

/** Begins the member, since quotation marks within texts are escaped. */
const segmentsMark = Buffer.from(',"segments":[');

const doubles = (length: number): Float64Array => new Float64Array(length);
const counts = (length: number): Uint32Array => new Uint32Array(length);

/** What `eval --out` and `score-answers --out` write. */
export class EvaluationFile {
  readonly path: string;
  /** Grows by one whenever the file was cut back. */
  revision = 0;
  readonly sets = new Names();
  /** Texts of questions, each once; `question` of a row counts them. */
  readonly questions = new Names();
  readonly ids = new Names();
  readonly stops = new Names();
  /** The first line that is no result with its conversation: its number from 1, and where it stands. */
  #strange: { readonly number: number; readonly span: readonly [offset: number, bytes: number] } | undefined;
  #numLines = 0;
  readonly #log: LineLog;
  readonly #numbers = new Map<string, Column<Float64Array>>(
    resultNumbers.map((name) => [name, new Column(doubles)]),
  );
  readonly #places = {
    ...{ offset: new Column(doubles), bytes: new Column(counts), headBytes: new Column(counts) },
    ...{ set: new Column(counts), question: new Column(counts), id: new Column(counts) },
    ...{ stop: new Column(counts), hasAnswer: new Column(counts) },
  };

  /** @param path - of the file */
  constructor(path: string) {
    this.path = path;
    this.#log = new LineLog(path, {
      onLine: (line, offset) => this.#add(line, offset),
      onReset: () => {
        this.revision += 1;
        this.#numLines = 0;
        this.#strange = undefined;
        for (const column of [...this.#numbers.values(), ...Object.values(this.#places)]) column.clear();
        for (const names of [this.sets, this.questions, this.ids, this.stops]) names.clear();
      },
    });
  }

  /** Reads what was added. @throws ERR_IO */
  refresh(): Promise<void> {
    return this.#log.refresh();
  }

  /** Questions so far. */
  get numRows(): number {
    return this.#places.offset.length;
  }

  /** When it was last written, milliseconds since 1970. @throws what the file system throws */
  async changedAt(): Promise<number> {
    return (await stat(this.path)).mtimeMs;
  }

  /** Whether somebody writes it, or was stopped within a line: then results are to come. @throws ERR_IO */
  async isUnderWay(): Promise<boolean> {
    await this.refresh();
    return this.#log.readBytes < this.#log.totalBytes || (await holderOf(`${this.path}.lock`)) !== undefined;
  }

  /** Refuses a file that also holds what is no result of `eval --out`. @throws ERR_FORMAT that names the first line and what came */
  async checkWhole(): Promise<void> {
    if (this.#strange === undefined) return;
    const { number, span } = this.#strange;
    const where = `${this.path}:${number}`;
    const { value } = parseRow((await this.#log.read(...span)).toString("utf8"), number - 1, where);
    const got = Object.keys(value).slice(0, 6).join(", ");
    throw new SeekError("ERR_FORMAT", `${where}: expected a result of seekrl eval --out, got ${got}`);
  }

  /** A number of a question; null where it has none. */
  number(name: string, row: number): number | null {
    const value = this.#numbers.get(name)?.at(row) ?? Number.NaN;
    return Number.isNaN(value) ? null : value;
  }

  /** Names of a question, by their numbers in {@link sets}, {@link questions}, {@link ids} and {@link stops}. */
  place(name: "set" | "question" | "id" | "stop", row: number): number {
    return this.#places[name].at(row);
  }

  /** Whether it was answered. */
  hasAnswer(row: number): boolean {
    return this.#places.hasAnswer.at(row) === 1;
  }

  /** What lines say before their segments. @throws ERR_RANGE, ERR_IO, ERR_FORMAT */
  async heads(rows: readonly number[]): Promise<ResultHead[]> {
    const lines = await this.#lines(rows, this.#places.headBytes);
    return lines.map((line, i) => headOf(line) ?? parsed(line.toString("utf8")) ?? this.#damaged(rows[i]!));
  }

  /** A whole line. @throws ERR_RANGE, ERR_IO, ERR_FORMAT */
  async row(row: number): Promise<QuestionResult> {
    const [line = Buffer.alloc(0)] = await this.#lines([row], this.#places.bytes);
    return (parsed(line.toString("utf8")) as QuestionResult | undefined) ?? this.#damaged(row);
  }

  async #lines(rows: readonly number[], bytes: Column): Promise<Buffer[]> {
    const wrong = rows.find((row) => !(Number.isInteger(row) && row >= 0 && row < this.numRows));
    if (wrong !== undefined)
      throw new SeekError("ERR_RANGE", `row: expected 0 to ${this.numRows - 1}, got ${wrong}`);
    return this.#log.readAll(rows.map((row) => [this.#places.offset.at(row), bytes.at(row)] as const));
  }

  #damaged(row: number): never {
    throw new SeekError("ERR_FORMAT", `${this.path}: expected a question's result in row ${row}`);
  }

  #add(line: Buffer, offset: number): void {
    const cut = line.indexOf(segmentsMark);
    const ahead = cut < 0 ? undefined : headOf(line.subarray(0, cut));
    const head = ahead ?? parsed(line.toString("utf8"));
    this.#numLines += 1;
    const isWhole = ahead !== undefined || (head !== undefined && "segments" in head);
    if (!isWhole) this.#strange ??= { number: this.#numLines, span: [offset, line.length] };
    if (head === undefined) return;
    for (const [name, column] of this.#numbers) {
      const value = (head as unknown as Readonly<Record<string, unknown>>)[name];
      column.push(typeof value === "number" ? value : Number.NaN);
    }
    const places = this.#places;
    places.offset.push(offset);
    places.bytes.push(line.length);
    places.headBytes.push(ahead === undefined ? line.length : cut);
    places.set.push(this.sets.numberOf(head.set));
    places.question.push(this.questions.numberOf(head.question));
    places.id.push(this.ids.numberOf(head.id));
    places.stop.push(this.stops.numberOf(head.stop ?? ""));
    places.hasAnswer.push(Number(head.answer !== null));
  }
}

function headOf(start: Buffer): ResultHead | undefined {
  return parsed(`${start.toString("utf8")}}`);
}

function parsed(text: string): ResultHead | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isResult = typeof value === "object" && value !== null && "question" in value && "em" in value;
    return isResult ? (value as ResultHead) : undefined;
  } catch {
    return undefined;
  }
}
