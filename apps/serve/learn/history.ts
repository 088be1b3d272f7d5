/** What a learning model did, on disk: which replies each step was taken on, and what became of each version. */
import { join } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import { type FolderLock, lockFile } from "../../../lib/base/files/folder-lock.ts";
import { Journal } from "../../../lib/base/files/journal.ts";
import { findText } from "../../../lib/base/files/regular-file.ts";

/** A line of `history.jsonl`. */
export type HistoryRow =
  | { readonly type: "opened"; readonly step: number; readonly stable: number; readonly version: number }
  | {
      readonly type: "step";
      readonly step: number;
      /** The candidate's. */
      readonly version: number;
      /** What was trained on, in order: ids of replies and their choices. */
      readonly replies: readonly (readonly [id: string, choice: number])[];
    }
  | {
      readonly type: "promoted" | "rolledBack" | "held" | "resumed";
      readonly step: number;
      /** What a promotion serves, or learning begins with again. */
      readonly version: number;
    };

/** What a folder's logs are, while one process learns in it. */
interface OpenLogs {
  readonly rows: Journal;
  readonly metrics: Journal;
  readonly lock: FolderLock;
}

/** Logs of a folder, and where they had come to. */
export class History {
  readonly numSteps: number;
  readonly numVersions: number;
  readonly #logs: OpenLogs | undefined;

  private constructor(past: readonly HistoryRow[], logs?: OpenLogs) {
    this.numSteps = past.reduce((most, { step }) => Math.max(most, step), 0);
    this.numVersions = past.reduce((most, { version }) => Math.max(most, version), 0);
    this.#logs = logs;
  }

  /**
   * Opens those of a folder, which is this process's alone until they are closed; none without one.
   *
   * @throws ERR_STATE when another process learns there; ERR_IO; ERR_FORMAT for a history that was changed
   */
  static async open(folder: string | undefined): Promise<History> {
    if (folder === undefined) return new History([]);
    const path = join(folder, "history.jsonl");
    const lock = await lockFile(path);
    try {
      const past = await rowsOf(path);
      const rows = await Journal.continued(path);
      const metrics = await Journal.continued(join(folder, "metrics.jsonl"));
      return new History(past, { rows, metrics, lock });
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** Writes what was done, and the figures of a step. @throws ERR_IO */
  async add(row: HistoryRow, metrics?: Readonly<Record<string, number>>): Promise<void> {
    if (metrics !== undefined) await this.#logs?.metrics.add(metrics);
    await this.#logs?.rows.add({ ...row, time: Date.now() });
  }

  /** Waits until all is written, and gives the folder back. */
  async close(): Promise<void> {
    await this.#logs?.metrics.close();
    await this.#logs?.rows.close();
    this.#logs?.lock.close();
  }
}

/** The rows of a file, without the one that a kill cut off; none where there is no file. */
async function rowsOf(path: string): Promise<HistoryRow[]> {
  const text = (await findText(path)) ?? "";
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line, i) => {
    try {
      return JSON.parse(line);
    } catch (cause) {
      throw new SeekError("ERR_FORMAT", `${path}:${i + 1}: expected JSON`, { cause });
    }
  });
}
