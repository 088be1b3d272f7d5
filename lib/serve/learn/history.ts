/** What a learning model did, on disk: which replies each step was taken on, and what became of each version. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Journal } from "../../base/files/journal.ts";

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

/** Logs of a folder, and where they had come to. */
export class History {
  readonly numSteps: number;
  readonly numVersions: number;
  readonly #rows: Journal | undefined;
  readonly #metrics: Journal | undefined;

  private constructor(past: readonly HistoryRow[], rows?: Journal, metrics?: Journal) {
    this.numSteps = past.reduce((most, { step }) => Math.max(most, step), 0);
    this.numVersions = past.reduce((most, { version }) => Math.max(most, version), 0);
    this.#rows = rows;
    this.#metrics = metrics;
  }

  /** Opens those of a folder, and none without one. @throws ERR_IO */
  static async open(folder: string | undefined): Promise<History> {
    if (folder === undefined) return new History([]);
    const open = async (name: string): Promise<[Journal, string]> => {
      const path = join(folder, name);
      const text = await wholeLines(path);
      return [await Journal.open(path, Buffer.byteLength(text)), text];
    };
    const [rows, past] = await open("history.jsonl");
    const [metrics] = await open("metrics.jsonl");
    return new History(
      past
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line)),
      rows,
      metrics,
    );
  }

  /** Writes what was done, and the figures of a step. @throws ERR_IO */
  async add(row: HistoryRow, metrics?: Readonly<Record<string, number>>): Promise<void> {
    if (metrics !== undefined) await this.#metrics?.add(metrics);
    await this.#rows?.add({ ...row, time: Date.now() });
  }

  /** Waits until all is written. */
  async close(): Promise<void> {
    await this.#metrics?.close();
    await this.#rows?.close();
  }
}

/** A file without the line that a kill cut off; nothing where there is none. */
async function wholeLines(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.slice(0, text.lastIndexOf("\n") + 1);
}
