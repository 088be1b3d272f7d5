/** Asks the questions of one set: many at once, each written down, judged beside the asking, losses counted. */
import { performance } from "node:perf_hooks";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import { mapConcurrently } from "../base/map-concurrently.ts";
import type { Question } from "../data/question.ts";
import type { EvaluateSetsOptions, EvaluationSet } from "./options.ts";
import { type QuestionResult, resultOf } from "./question-result.ts";
import { keptOf, type ResultLog } from "./result-log.ts";

/** A question without an outcome, because a server of the policy failed. */
export interface LostQuestion {
  readonly set: string;
  readonly id: string;
  readonly reason: string;
}

/** What came of a set. */
export interface SetRun {
  /** In the order of the questions, the lost ones left out. */
  readonly results: readonly QuestionResult[];
  readonly lost: readonly LostQuestion[];
  /** At work, those of earlier runs included. */
  readonly seconds: number;
  /** Of one question with nothing else under way; null when it was not measured. */
  readonly aloneSeconds: number | null;
}

/** So many losses in a row are no accident: the server is gone. */
const kLostInARow = 16;

/**
 * Asks all questions of a set that an earlier run has not asked.
 *
 * @param set - name and questions
 * @param options - agent, judge, seed; see `EvaluateSetsOptions`
 * @param log - keeps each result, and knows those of an earlier run
 * @returns results and losses
 * @throws what the agent throws; ERR_REMOTE only when every question, or sixteen in a row, were lost
 */
export async function runSet(
  set: EvaluationSet,
  options: EvaluateSetsOptions,
  log: ResultLog | undefined,
): Promise<SetRun> {
  const run = new Run(set, options, log);
  const { results, seconds } = await run.askAll();
  const aloneSeconds = await timeAlone(set.questions.slice(0, options.alone ?? 0), options);
  return { results, lost: run.lost, seconds, aloneSeconds };
}

class Run {
  readonly lost: LostQuestion[] = [];
  readonly #set: EvaluationSet;
  readonly #options: EvaluateSetsOptions;
  readonly #log: ResultLog | undefined;
  readonly #kept: ReadonlyMap<number, QuestionResult>;
  readonly #began: number;
  #done = 0;
  #right = 0;
  #lostInARow = 0;

  constructor(set: EvaluationSet, options: EvaluateSetsOptions, log: ResultLog | undefined) {
    this.#set = set;
    this.#options = options;
    this.#log = log;
    this.#kept = keptOf(log?.kept ?? [], set.name, set.questions);
    const before = Math.max(0, ...[...this.#kept.values()].map(({ elapsedSeconds }) => elapsedSeconds));
    this.#began = performance.now() - before * 1000;
    for (const { em } of this.#kept.values()) this.#count(em);
  }

  async askAll(): Promise<Pick<SetRun, "results" | "seconds">> {
    const { questions } = this.#set;
    const { concurrency = 256, judge } = this.#options;
    const finished: Promise<QuestionResult | undefined>[] = [];
    try {
      await mapConcurrently(questions, concurrency, async (question, index) => {
        const known = this.#kept.get(index);
        const result = known ?? (await this.#ask(question, index));
        // A judge takes its time beside the next questions: it must not hold up the policy's batch.
        finished[index] = known || !result ? Promise.resolve(result) : this.#finish(question, result);
        if (judge === undefined) await finished[index];
        else finished[index].catch(() => {});
      });
      const results = (await Promise.all(finished)).filter((result) => result !== undefined);
      if (results.length === 0) this.#giveUp();
      return { results, seconds: Math.max(...results.map(({ elapsedSeconds }) => elapsedSeconds)) };
    } finally {
      await Promise.allSettled(finished);
    }
  }

  async #ask(question: Question, index: number): Promise<QuestionResult | undefined> {
    try {
      const result = await answered(question, this.#options, {
        ...{ set: this.#set.name, index },
        elapsed: () => (performance.now() - this.#began) / 1000,
      });
      this.#lostInARow = 0;
      this.#count(result.em);
      return result;
    } catch (error) {
      if (!(error instanceof SeekError) || error.code !== "ERR_REMOTE") throw error;
      this.lost.push({ set: this.#set.name, id: question.id, reason: error.message });
      this.#lostInARow += 1;
      if (this.#lostInARow === kLostInARow) this.#giveUp();
      return undefined;
    }
  }

  #giveUp(): never {
    const reason = this.lost.at(-1)?.reason ?? "no question was asked";
    const message = `${this.#set.name}: ${this.lost.length} questions were lost in a row, the last because: ${reason}`;
    throw new SeekError("ERR_REMOTE", message);
  }

  #count(em: number): void {
    this.#done += 1;
    this.#right += em;
  }

  /** Judges a result and writes it down. */
  async #finish(question: Question, result: QuestionResult): Promise<QuestionResult> {
    const judged = await this.#judged(question, result);
    await this.#log?.add(judged);
    this.#options.onProgress?.({
      ...{ set: this.#set.name, done: this.#done, total: this.#set.questions.length },
      em: this.#right / this.#done,
    });
    return judged;
  }

  async #judged(question: Question, result: QuestionResult): Promise<QuestionResult> {
    const { judge, signal } = this.#options;
    if (judge === undefined) return result;
    // Nothing was said that could be right.
    if (result.answer === null) return { ...result, judge: 0 };
    const verdict = await judge(question, result.answer, signal);
    if ("failure" in verdict) return { ...result, judgeFailure: verdict.failure };
    return { ...result, judge: Number(verdict.isRight), judgeReason: verdict.rationale };
  }
}

interface Place {
  readonly set: string;
  readonly index: number;
  readonly elapsed: () => number;
}

async function answered(
  question: Question,
  { agent, seed = 0, rules = "flashrag", signal }: EvaluateSetsOptions,
  { set, index, elapsed }: Place,
): Promise<QuestionResult> {
  throwIfAborted(signal, "evaluation");
  const found: string[] = [];
  let hasTold = false;
  const trajectory = await agent(question, {
    ...{ seed, signal },
    onEvent: (event) => {
      if (event.type !== "documents") return;
      hasTold = true;
      for (const { text } of event.documents.flat()) found.push(text);
    },
  });
  throwIfAborted(signal, "evaluation");
  const tells = hasTold || trajectory.rounds === trajectory.failures;
  return resultOf(question, trajectory, {
    ...{ set, index, rules, elapsedSeconds: elapsed() },
    found: tells ? found : undefined,
  });
}

async function timeAlone(
  questions: readonly Question[],
  { agent, seed = 0, signal }: EvaluateSetsOptions,
): Promise<number | null> {
  const times: number[] = [];
  for (const question of questions) {
    throwIfAborted(signal, "evaluation");
    try {
      const { timings } = await agent(question, signal ? { seed, signal } : { seed });
      times.push(timings.totalMs / 1000);
    } catch (error) {
      // A server that fails now leaves the answers of before as they are.
      if (!(error instanceof SeekError) || error.code !== "ERR_REMOTE") throw error;
    }
  }
  throwIfAborted(signal, "evaluation");
  return times.length === 0 ? null : times.reduce((sum, time) => sum + time, 0) / times.length;
}
