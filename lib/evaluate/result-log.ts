/** The file of an evaluation: one JSON line per question, on the disk before the question counts as finished. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { SeekError } from "../base/errors.ts";
import { type JsonRow, parseRow, rowError } from "../data/jsonl.ts";
import { LineLog } from "../data/line-log.ts";
import { readChunks } from "../data/text-file.ts";
import { figureNames } from "./figures.ts";
import type { QuestionResult } from "./question-result.ts";

/** Whether and with what a file is continued. */
export interface ResultLogOptions {
  /** What decides the outcome besides the questions; a file of other settings is not continued. */
  readonly settings: object;
  /** Keeps the finished questions of an earlier run. @default false */
  readonly resume?: boolean;
}

const lineFeed = 10;

/** Appends results in batches: what is added while the disk is busy goes with the next flush. */
export class ResultLog {
  /** What an earlier run had finished. */
  readonly kept: readonly QuestionResult[];
  readonly #log: LineLog;
  readonly #settings: string;
  readonly #pending: object[] = [];
  #written: Promise<void> = Promise.resolve();

  private constructor(log: LineLog, settings: string, kept: readonly QuestionResult[]) {
    this.#log = log;
    this.#settings = settings;
    this.kept = kept;
  }

  /**
   * Opens a file, emptied unless it is continued. A last line that a kill cut short is dropped.
   *
   * @throws ERR_IO; ERR_FORMAT when a file to be continued has other settings, or holds something else
   */
  static async open(path: string, { settings, resume = false }: ResultLogOptions): Promise<ResultLog> {
    const fingerprint = fingerprintOf(settings);
    const kept: QuestionResult[] = [];
    let bytes = 0;
    if (resume && existsSync(path)) {
      for await (const { text, end, number } of completeLines(path)) {
        kept.push(keptResult(parseRow(text, number, `${path}:${number}`), fingerprint));
        bytes = end;
      }
    }
    return new ResultLog(await LineLog.open(path, bytes), fingerprint, kept);
  }

  /** Adds a result; done when it is on the disk. @throws ERR_IO */
  add(result: QuestionResult): Promise<void> {
    this.#pending.push({ ...result, settings: this.#settings });
    this.#written = this.#written.then(() => this.#flush());
    return this.#written;
  }

  /** Gives the file back after the last result. */
  async close(): Promise<void> {
    await this.#written.catch(() => undefined);
    await this.#log.close();
  }

  async #flush(): Promise<void> {
    const rows = this.#pending.splice(0);
    if (rows.length === 0) return;
    await this.#log.append(...rows);
    await this.#log.sync();
  }
}

function fingerprintOf(settings: object): string {
  return createHash("sha256").update(JSON.stringify(settings)).digest("hex").slice(0, 16);
}

function keptResult(row: JsonRow, settings: string): QuestionResult {
  if (row.value.settings !== settings) {
    const actual = `"settings": ${JSON.stringify(row.value.settings)}`;
    throw rowError(row, `"settings": "${settings}", as the options given now have it`, actual);
  }
  const numbers = [...figureNames, "index", "seconds", "elapsedSeconds"] as const;
  const wrong = numbers.find((name) => name in row.value && !isNumber(row.value[name]));
  if (wrong !== undefined) throw rowError(row, `"${wrong}": a number`, JSON.stringify(row.value[wrong]));
  const { settings: _, ...result } = row.value;
  return result as unknown as QuestionResult;
}

const isNumber = (value: unknown): boolean => typeof value === "number" || value === null;

async function* completeLines(path: string): AsyncGenerator<{ text: string; end: number; number: number }> {
  let rest: Buffer = Buffer.alloc(0);
  let [start, number] = [0, 0];
  for await (const chunk of readChunks(path)) {
    rest = Buffer.concat([rest, chunk]);
    for (let at = rest.indexOf(lineFeed); at >= 0; at = rest.indexOf(lineFeed)) {
      const text = rest.subarray(0, at).toString("utf8");
      start += at + 1;
      number += 1;
      rest = rest.subarray(at + 1);
      yield { text, end: start, number };
    }
  }
}

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
