/** Many questions at once: a bounded number under way, those of an earlier run known, losses counted. */
import { setMaxListeners } from "node:events";
import { codeOf, SeekError, throwIfAborted } from "../base/errors.ts";
import type { Question } from "../data/question.ts";
import { type AskingRanks, gathered, ownQuestions } from "./ranked-questions.ts";

/** A question without an outcome, because a server failed at it. */
export interface Loss {
  readonly id: string;
  readonly reason: string;
}

/** How far it has come; those of an earlier run and the lost ones are done. */
export interface QuestionsProgress {
  readonly done: number;
  readonly total: number;
  readonly lost: number;
}

/** How questions are run. */
interface RunQuestionsOptions<Result> {
  /** Runs one; its signal also fires when another one ends the run. ERR_REMOTE loses the question. */
  readonly ask: (question: Question, index: number, signal: AbortSignal) => Promise<Result>;
  /** Completes a result beside the questions that follow: judges it, writes it down. @default as it is */
  readonly finish?: ((result: Result, question: Question) => Promise<Result>) | undefined;
  /** Results of an earlier run, by place. @default none */
  readonly known?: ReadonlyMap<number, Result> | undefined;
  /** Ranks that ask the same questions, each of them a part. @default one process */
  readonly ranks?: AskingRanks<Result> | undefined;
  /** Questions under way at once. @default 256 */
  readonly concurrency?: number | undefined;
  /** So many losses in a row are no accident: the server is gone. 0 loses none, and throws. @default 16 */
  readonly patience?: number | undefined;
  readonly onProgress?: ((progress: QuestionsProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What came of questions, in their order. */
interface QuestionsRun<Result> {
  /** Undefined where the question was lost. */
  readonly results: readonly (Result | undefined)[];
  readonly lost: readonly Loss[];
}

/**
 * Runs all questions. The first failure that is no loss ends the run: no further question is asked, and those under way
 * are aborted and waited for.
 *
 * @param questions - to ask
 * @param options - how one is asked and finished, how many at once
 * @returns results and losses
 * @throws what `ask` and `finish` throw; ERR_REMOTE when every question, or `patience` in a row, were lost; ERR_ABORTED
 */
export async function runQuestions<Result>(
  questions: readonly Question[],
  options: RunQuestionsOptions<Result>,
): Promise<QuestionsRun<Result>> {
  const { ranks, concurrency = 256 } = options;
  const own = ranks && ownQuestions(questions.length, ranks, concurrency);
  const runner = new Runner(questions, { ...options, concurrency, ...own });
  const running = runner.run().then((results) => ({ results, lost: runner.lost }));
  return ranks === undefined ? running : gathered(running, ranks);
}

/** What a runner asks. */
interface RunnerOptions<Result> extends RunQuestionsOptions<Result> {
  readonly concurrency: number;
  /** The number of the next question; undefined when none is left. @default all, in order */
  readonly take?: () => Promise<number | undefined>;
}

class Runner<Result> {
  readonly lost: Loss[] = [];
  readonly #questions: readonly Question[];
  readonly #options: RunnerOptions<Result>;
  readonly #stopped = new AbortController();
  readonly #signal: AbortSignal;
  #failure: { readonly error: unknown } | undefined;
  #done: number;
  #lostInARow = 0;

  constructor(questions: readonly Question[], options: RunnerOptions<Result>) {
    this.#questions = questions;
    this.#options = options;
    this.#done = options.known?.size ?? 0;
    const { signal } = options;
    this.#signal = signal ? AbortSignal.any([signal, this.#stopped.signal]) : this.#stopped.signal;
    // All that is under way listens.
    setMaxListeners(0, this.#signal);
  }

  async run(): Promise<(Result | undefined)[]> {
    const { known, concurrency, take = this.#inOrder(), signal } = this.#options;
    const finished: Promise<Result | undefined>[] = new Array(this.#questions.length).fill(undefined);
    const askNext = async (): Promise<boolean> => {
      const index = this.#signal.aborted ? undefined : await take().catch((error) => this.#stop(error));
      if (index === undefined) return false;
      const question = this.#questions[index]!;
      const before = known?.get(index);
      const result = before ?? (await this.#ask(question, index));
      const isNew = before === undefined && result !== undefined;
      // What completes a result takes its time beside the next questions: it must not hold up the policy's batch.
      finished[index] = isNew ? this.#finish(result, question) : Promise.resolve(result);
      return true;
    };
    const asker = async (): Promise<void> => {
      while (await askNext());
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, this.#questions.length) }, asker));
    const results = await Promise.all(finished);
    if (this.#failure) throw this.#failure.error;
    throwIfAborted(signal, "questions");
    if (this.lost.length > 0 && this.lost.length === this.#questions.length) throw this.#gone();
    return results;
  }

  #inOrder(): () => Promise<number | undefined> {
    let next = 0;
    return async () => (next < this.#questions.length ? next++ : undefined);
  }

  async #ask(question: Question, index: number): Promise<Result | undefined> {
    try {
      const result = await this.#options.ask(question, index, this.#signal);
      this.#lostInARow = 0;
      return result;
    } catch (error) {
      const { patience = 16 } = this.#options;
      if (codeOf(error) !== "ERR_REMOTE" || patience === 0) return this.#stop(error);
      this.lost.push({ id: question.id, reason: (error as Error).message });
      this.#lostInARow += 1;
      this.#tell();
      return this.#lostInARow === patience ? this.#stop(this.#gone()) : undefined;
    }
  }

  async #finish(result: Result, question: Question): Promise<Result | undefined> {
    try {
      const finished = (await this.#options.finish?.(result, question)) ?? result;
      this.#tell();
      return finished;
    } catch (error) {
      return this.#stop(error);
    }
  }

  #tell(): void {
    this.#done += 1;
    const { length: total } = this.#questions;
    this.#options.onProgress?.({ done: this.#done, total, lost: this.lost.length });
  }

  /** The first failure is reported: those that follow are aborted because of it. */
  #stop(error: unknown): undefined {
    this.#failure ??= { error };
    this.#stopped.abort();
  }

  #gone(): SeekError {
    const { length } = this.lost;
    const what = `${length} questions in a row failed, the last one: ${this.lost.at(-1)?.reason}`;
    return new SeekError("ERR_REMOTE", what);
  }
}
