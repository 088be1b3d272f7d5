/** Answers that cost money or time, kept in a journal on disk. */
import { digestOf } from "../../lib/base/files/digests.ts";
import { rowError } from "../../lib/data/files/jsonl.ts";
import { ProgressLog } from "../../lib/data/logs/progress-log.ts";

/** Texts by the digest of what was asked. */
export class KeptAnswers {
  readonly #log: ProgressLog;
  readonly #answers: Map<string, string>;

  private constructor(log: ProgressLog, answers: Map<string, string>) {
    this.#log = log;
    this.#answers = answers;
  }

  /**
   * Opens the file, or makes it. A last line that a kill has cut is dropped.
   *
   * @param path - one JSON object of request (its digest) and answer a line
   * @returns the answers, to be closed
   * @throws ERR_STATE when another process writes the file; ERR_IO when the file system refuses; ERR_FORMAT when a whole
   *   line is no such object
   */
  static async open(path: string): Promise<KeptAnswers> {
    const log = await ProgressLog.open(path, { settings: {}, resume: true });
    try {
      const pairs = log.kept.map((row): [string, string] => {
        const { request, answer } = row.value;
        if (typeof request === "string" && typeof answer === "string") return [request, answer];
        throw rowError(row, "request and answer", JSON.stringify(row.value).slice(0, 80));
      });
      return new KeptAnswers(log, new Map(pairs));
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** What was answered to a request; undefined when it was not asked before. */
  get(request: object): string | undefined {
    return this.#answers.get(digestOf(JSON.stringify(request)));
  }

  /** Keeps an answer. @throws ERR_IO */
  async set(request: object, answer: string): Promise<void> {
    const digest = digestOf(JSON.stringify(request));
    this.#answers.set(digest, answer);
    await this.#log.add({ request: digest, answer });
  }

  /** Waits for what is being written, and gives the file back. */
  async close(): Promise<void> {
    await this.#log.close();
  }
}
