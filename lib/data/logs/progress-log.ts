/** The file of work on many items: one JSON line each, on the disk before the item counts as finished. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { type JsonRow, parseRow, rowError } from "../files/jsonl.ts";
import { readChunks } from "../files/text-file.ts";
import { LineLog } from "./line-log.ts";

/** Whether and with what a file is continued. */
export interface ProgressLogOptions {
  /** What decides the outcome besides the items; a file of other settings is not continued. */
  readonly settings: object;
  /** Keeps the finished items of an earlier run. @default false */
  readonly resume?: boolean;
}

const lineFeed = 10;

/** Appends rows in batches: what is added while the disk is busy goes with the next flush. */
export class ProgressLog {
  /** What an earlier run had finished. */
  readonly kept: readonly JsonRow[];
  readonly #log: LineLog;
  readonly #settings: string;
  readonly #pending: object[] = [];
  #written: Promise<void> = Promise.resolve();

  private constructor(log: LineLog, settings: string, kept: readonly JsonRow[]) {
    this.#log = log;
    this.#settings = settings;
    this.kept = kept;
  }

  /**
   * Opens a file, emptied unless it is continued. A last line that a kill cut short is dropped.
   *
   * @param path - the file, made when missing
   * @param options - settings, and whether to go on
   * @returns the log, to be closed
   * @throws ERR_IO; ERR_FORMAT when a file to be continued has other settings, or holds something else
   */
  static async open(path: string, { settings, resume = false }: ProgressLogOptions): Promise<ProgressLog> {
    const fingerprint = fingerprintOf(settings);
    const kept: JsonRow[] = [];
    let bytes = 0;
    if (resume && existsSync(path)) {
      for await (const { text, end, number } of completeLines(path)) {
        kept.push(keptRow(parseRow(text, number, `${path}:${number}`), fingerprint));
        bytes = end;
      }
    }
    return new ProgressLog(await LineLog.open(path, bytes), fingerprint, kept);
  }

  /** Adds a row; done when it is on the disk. @throws ERR_IO */
  add(row: object): Promise<void> {
    this.#pending.push({ ...row, settings: this.#settings });
    this.#written = this.#written.then(() => this.#flush());
    return this.#written;
  }

  /** Gives the file back after the last row. */
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

function keptRow(row: JsonRow, settings: string): JsonRow {
  const { settings: actual, ...value } = row.value;
  if (actual === settings) return { ...row, value };
  const expected = `"settings": "${settings}", as the options given now have it`;
  const got = `"settings": ${JSON.stringify(actual)}: the file was begun with other options; name another one`;
  throw rowError(row, expected, got);
}

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
