/** Keeps replies until they are scored, and on disk where that is asked for. */
import { join } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import { type FolderLock, lockFolder } from "../../../lib/base/files/folder-lock.ts";
import { Journal } from "../../../lib/base/files/journal.ts";
import { Refusal, refused } from "../http/refusal.ts";
import type { RecordedChoice } from "./record.ts";

/** Rewards lie within it on both sides: one that is far off would hide what all others say. */
export const mostReward = 1e6;

/** A recorded choice with what it was worth. */
export interface ScoredChoice extends RecordedChoice {
  readonly reward: number;
}

/** How replies are kept. */
export interface RecordOptions {
  /** Holds `replies.jsonl` and `feedback.jsonl`, to which is added: ids, log-probabilities, scores. @default memory only */
  readonly folder?: string | undefined;
  /** Choices that wait for their score; the oldest are forgotten. @default 10000 */
  readonly maxWaiting?: number | undefined;
  /** Scores a choice as soon as it ended; `undefined` leaves it to feedback. @default all is left to feedback */
  readonly reward?:
    | ((choice: RecordedChoice) => Promise<number | undefined> | number | undefined)
    | undefined;
}

/** How replies are kept, and who is told of it. */
interface RecorderOptions extends RecordOptions {
  /** Is given each choice that is scored. */
  readonly onScore: (choice: ScoredChoice) => void;
  readonly onFault: (error: unknown) => void;
}

interface OpenLogs {
  readonly replies: Journal;
  readonly feedback: Journal;
  readonly lock: FolderLock;
}

async function openLogs(folder: string): Promise<OpenLogs> {
  const lock = await lockFolder(folder);
  try {
    const open = (name: string): Promise<Journal> => Journal.continued(join(folder, name));
    return { replies: await open("replies.jsonl"), feedback: await open("feedback.jsonl"), lock };
  } catch (error) {
    lock.close();
    throw error;
  }
}

const keyOf = (id: string, choice: number): string => `${id} ${choice}`;

/** A line of the log. */
function rowOf({ segments, ...rest }: RecordedChoice): object {
  const parts = segments.map(({ kind, tokens, logprobs, visible }) => ({
    ...{ kind, tokens: [...tokens] },
    ...(logprobs ? { logprobs: [...logprobs] } : {}),
    ...(visible ? { visible } : {}),
  }));
  return { ...rest, segments: parts };
}

/** Records choices and takes their scores. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #logs: OpenLogs | undefined;
  /** By reply and choice, the oldest first. */
  readonly #waiting = new Map<string, RecordedChoice>();

  private constructor(options: RecorderOptions, logs: OpenLogs | undefined) {
    this.#options = options;
    this.#logs = logs;
  }

  /** @throws ERR_STATE when another process records into the folder; ERR_IO */
  static async open(options: RecorderOptions): Promise<Recorder> {
    const { folder } = options;
    return new Recorder(options, folder === undefined ? undefined : await openLogs(folder));
  }

  /** Keeps a choice. */
  record(choice: RecordedChoice): void {
    this.#waiting.set(keyOf(choice.id, choice.choice), choice);
    const [oldest] = this.#waiting.keys();
    const { maxWaiting = 10_000 } = this.#options;
    if (this.#waiting.size > maxWaiting && oldest !== undefined) this.#waiting.delete(oldest);
    void this.#logs?.replies.add(rowOf(choice)).catch(this.#options.onFault);
    if (this.#options.reward !== undefined) void this.#reward(choice).catch(this.#options.onFault);
  }

  /**
   * Takes a score from outside.
   *
   * @param id - of the reply
   * @param choice - of its choices
   * @param reward - what it was worth
   * @throws Refusal 404 for a reply that is not waiting: unknown, scored already, or forgotten
   */
  async score(id: string, choice: number, reward: number): Promise<void> {
    const found = this.#waiting.get(keyOf(id, choice));
    if (found === undefined) {
      const message = `no reply that waits for its score, got ${id.slice(0, 100)}, choice ${choice}`;
      throw refused(["response_id"], message, "not_found");
    }
    this.#waiting.delete(keyOf(id, choice));
    await this.#logs?.feedback.add({ id, choice, reward, time: Date.now() }).catch((cause) => {
      throw new Refusal("internal", "the score could not be written", { cause });
    });
    this.#options.onScore({ ...found, reward });
  }

  /** Waits until all is written, and gives the folder back. */
  async close(): Promise<void> {
    await Promise.all([this.#logs?.replies.close(), this.#logs?.feedback.close()]);
    this.#logs?.lock.close();
  }

  async #reward(choice: RecordedChoice): Promise<void> {
    const reward = await this.#options.reward?.(choice);
    if (reward === undefined) return;
    if (!(Math.abs(reward) <= mostReward)) {
      const expected = `a number from -${mostReward} to ${mostReward}`;
      throw new SeekError("ERR_RANGE", `record.reward: expected ${expected}, got ${reward}`);
    }
    await this.score(choice.id, choice.choice, reward);
  }
}
