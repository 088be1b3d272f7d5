/** Asks the questions of one set: many at once, each written down, judged beside the asking, losses counted. */
import { performance } from "node:perf_hooks";
import { checkArgument, shownValue } from "../base/check-options.ts";
import { codeOf, SeekError, throwIfAborted } from "../base/errors.ts";
import type { Question, QuestionSet } from "../data/question.ts";
import { type Loss, runQuestions } from "../rollout/run-questions.ts";
import type { EvaluateSetsOptions } from "./options.ts";
import { type QuestionResult, resultOf } from "./question-result.ts";
import { keptOf, type ResultLog } from "./result-log.ts";

/** A question of a set without an outcome, because a server of the policy failed. */
export interface LostQuestion extends Loss {
  readonly set: string;
}

/** What came of a set. */
interface SetRun {
  /** In the order of the questions, the lost ones left out. */
  readonly results: readonly QuestionResult[];
  readonly lost: readonly LostQuestion[];
  /** At work, those of earlier runs included. */
  readonly seconds: number;
  /** Of one question with nothing else under way; null when it was not measured. */
  readonly aloneSeconds: number | null;
}

/**
 * Asks all questions of a set that an earlier run has not asked.
 *
 * @param set - name and questions
 * @param options - agent, judge, seed; see `EvaluateSetsOptions`
 * @param log - keeps each result, and knows those of an earlier run
 * @returns results and losses
 * @throws as `runQuestions`
 */
export async function runSet(
  { name: set, questions }: QuestionSet,
  options: EvaluateSetsOptions,
  log: ResultLog | undefined,
): Promise<SetRun> {
  const { processGroup } = options;
  const known = keptOf(log?.kept ?? [], set, questions);
  const before = Math.max(0, ...[...known.values()].map(({ elapsedSeconds }) => elapsedSeconds));
  const began = performance.now() - before * 1000;
  const elapsed = (): number => (performance.now() - began) / 1000;
  const scores = [...known.values()].map(({ em }) => em);
  const { results, lost } = await runQuestions(questions, {
    ask: (question, index, signal) => answered(question, { ...options, signal }, { set, index, elapsed }),
    finish: async (result, question) => {
      const judged = await judgedOf(question, result, options);
      await log?.add(judged);
      scores.push(judged.em);
      return judged;
    },
    onProgress: ({ done, total }) => options.onProgress?.({ set, done, total, em: meanOf(scores) ?? 0 }),
    ...{ known, concurrency: options.concurrency, signal: options.signal },
    ranks: processGroup && { processGroup, what: processGroup.newName(`evaluation of ${set}`) },
  });
  const answeredOnes = results.filter((result) => result !== undefined);
  return {
    results: answeredOnes,
    lost: lost.map((each) => ({ set, ...each })),
    seconds: Math.max(0, ...answeredOnes.map(({ elapsedSeconds }) => elapsedSeconds)),
    aloneSeconds: await timeAlone(questions.slice(0, options.alone ?? 0), options),
  };
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

async function judgedOf(
  question: Question,
  result: QuestionResult,
  { judge, signal }: EvaluateSetsOptions,
): Promise<QuestionResult> {
  if (judge === undefined) return result;
  // Nothing was said that could be right.
  if (result.answer === null) return { ...result, judge: 0 };
  const verdict = await judge(question, result.answer, signal);
  if (typeof verdict !== "object" || !("failure" in verdict || typeof verdict.isRight === "boolean")) {
    const expected = "{isRight, rationale} or {failure}";
    throw new SeekError("ERR_ARGUMENT", `judge: expected ${expected}, got ${shownValue(verdict)}`);
  }
  if ("failure" in verdict) return { ...result, judgeFailure: verdict.failure };
  return { ...result, judge: Number(verdict.isRight), judgeReason: verdict.rationale };
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
  checkArgument("agent's trajectory", trajectory, "object");
  checkArgument("agent's trajectory: queries", trajectory.queries, "list");
  const tells = hasTold || trajectory.rounds === trajectory.failures;
  return resultOf(question, trajectory, {
    ...{ set, index, rules, elapsedSeconds: elapsed() },
    found: tells ? found : undefined,
  });
}

/** One question after the other. A server that fails now leaves the answers of before as they are. */
async function timeAlone(
  questions: readonly Question[],
  { agent, seed = 0, signal }: EvaluateSetsOptions,
): Promise<number | null> {
  const times: number[] = [];
  await runQuestions(questions, {
    ask: async (question, _, whileWanted) => {
      const { timings } = await agent(question, { seed, signal: whileWanted });
      times.push(timings.totalMs / 1000);
    },
    ...{ concurrency: 1, patience: questions.length + 1, signal },
  }).catch((error) => {
    if (codeOf(error) !== "ERR_REMOTE") throw error;
  });
  return meanOf(times);
}
