/** The journal of work on many items: one JSON line each, sealed, on the disk before the item counts as finished. */
import { existsSync } from "node:fs";
import { digestOf } from "../../base/files/digests.ts";
import { type FolderLock, lockFile } from "../../base/files/folder-lock.ts";
import { Journal } from "../../base/files/journal.ts";
import { type JsonRow, parseRow, rowError } from "../files/jsonl.ts";
import { readChunks } from "../files/text-file.ts";

/** Whether and with what a file is continued. */
export interface ProgressLogOptions {
  /** What decides the outcome besides the items; a file of other settings is not continued. */
  readonly settings: object;
  /** Keeps the finished items of an earlier run. @default false */
  readonly resume?: boolean | undefined;
}

const lineFeed = 10;
const shortDigest = (content: string): string => digestOf(content).slice(0, 16);

/** Rows with the digests of the settings and of themselves; nobody else writes the file meanwhile. */
export class ProgressLog {
  /** What an earlier run had finished. */
  readonly kept: readonly JsonRow[];
  readonly #journal: Journal;
  readonly #lock: FolderLock;
  readonly #settings: string;

  private constructor(
    { journal, lock }: { readonly journal: Journal; readonly lock: FolderLock },
    settings: string,
    kept: readonly JsonRow[],
  ) {
    this.#journal = journal;
    this.#lock = lock;
    this.#settings = settings;
    this.kept = kept;
  }

  /**
   * Opens a file, emptied unless it is continued. A last line that a kill cut short is dropped.
   *
   * @param path - the file, made when missing; `<path>.lock` beside it says who writes
   * @param options - settings, and whether to go on
   * @returns the log, to be closed
   * @throws ERR_STATE when another process writes it; ERR_IO; ERR_FORMAT when a file to be continued has other settings,
   *   holds something else, or was changed
   */
  static async open(path: string, { settings, resume = false }: ProgressLogOptions): Promise<ProgressLog> {
    const lock = await lockFile(path);
    try {
      const fingerprint = shortDigest(JSON.stringify(settings));
      const { kept, bytes } = resume ? await keptRows(path, fingerprint) : { kept: [], bytes: 0 };
      return new ProgressLog({ journal: await Journal.open(path, bytes), lock }, fingerprint, kept);
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** Adds a row; done when it is on the disk. @throws ERR_IO */
  async add(row: object): Promise<void> {
    const described = { ...row, settings: this.#settings };
    void this.#journal.add({ ...described, digest: shortDigest(JSON.stringify(described)) }).catch(() => {});
    await this.#journal.sync();
  }

  /** Gives the file back after the last row. */
  async close(): Promise<void> {
    await this.#journal.close();
    this.#lock.close();
  }
}

async function keptRows(path: string, settings: string): Promise<{ kept: JsonRow[]; bytes: number }> {
  const kept: JsonRow[] = [];
  let bytes = 0;
  if (!existsSync(path)) return { kept, bytes };
  for await (const { text, end, number } of completeLines(path)) {
    kept.push(keptRow(parseRow(text, number, `${path}:${number}`), settings));
    bytes = end;
  }
  return { kept, bytes };
}

function keptRow(row: JsonRow, settings: string): JsonRow {
  const { digest, ...described } = row.value;
  if (digest !== shortDigest(JSON.stringify(described))) {
    throw rowError(
      row,
      `"digest": that of the line`,
      `${JSON.stringify(digest)}: the line was changed; delete it`,
    );
  }
  const { settings: actual, ...value } = described;
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
