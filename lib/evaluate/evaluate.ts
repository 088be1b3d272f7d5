/** Evaluation: an agent over questions, scored by EM, F1, rounds of retrieval and seconds per question. */
import { performance } from "node:perf_hooks";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import { mapConcurrently } from "../base/map-concurrently.ts";
import { writeJsonLines } from "../data/jsonl.ts";
import type { Question } from "../data/question.ts";
import { type RulesName, scoreAnswer } from "../reward/rules.ts";
import type { Agent } from "../rollout/agent.ts";
import type { Segment, StopReason, Trajectory } from "../rollout/trajectory.ts";

/** What to evaluate, and how. */
export interface EvaluateOptions {
  readonly questions: readonly Question[];
  readonly agent: Agent;
  /** Fixes every sampled token. @default 0 */
  readonly seed?: number;
  /** Whose metric rules. @default "flashrag" */
  readonly rules?: RulesName;
  /** Questions under way at once; the engine batches them. @default 256 */
  readonly concurrency?: number;
  /** A file for one JSON line per question; written whole, at the end. */
  readonly output?: string;
  /** Called after every question. */
  readonly onProgress?: (progress: EvaluationProgress) => void;
  readonly signal?: AbortSignal;
}

/** How far an evaluation has come. */
export interface EvaluationProgress {
  readonly done: number;
  readonly total: number;
  /** Mean exact match so far. */
  readonly em: number;
}

/** One question's outcome. */
export interface QuestionResult {
  readonly id: string;
  readonly question: string;
  readonly answers: readonly string[];
  /** What the policy answered; null when it did not. */
  readonly answer: string | null;
  readonly em: number;
  readonly f1: number;
  /** What the rules call accuracy. */
  readonly acc: number;
  readonly precision: number;
  readonly recall: number;
  readonly rounds: number;
  readonly queries: readonly (readonly string[])[];
  /** Turns without an action. */
  readonly invalidActions: number;
  readonly failures: number;
  /** What failed searches said. */
  readonly failureReasons?: readonly string[];
  readonly stop: StopReason;
  /** From the first token asked for to the last. */
  readonly seconds: number;
  /** The conversation, without token ids. */
  readonly segments: readonly Pick<Segment, "kind" | "text">[];
}

/** Means over all questions. */
export interface Evaluation {
  readonly em: number;
  readonly f1: number;
  readonly acc: number;
  readonly precision: number;
  readonly recall: number;
  /** Searches per question; parallel queries are one round. */
  readonly rounds: number;
  /** Wall-clock time of the whole evaluation divided by the number of questions. */
  readonly secondsPerQuestion: number;
  /** Mean time one question was under way, waiting for others in its batch included. */
  readonly latencySeconds: number;
  /** Searches that failed, in all. */
  readonly failures: number;
  readonly questions: number;
  readonly perQuestion: readonly QuestionResult[];
}

/**
 * Lets an agent answer every question and scores the answers.
 *
 * @param options - questions and agent; see `EvaluateOptions`
 * @returns means, and each question's outcome in the order given
 * @throws ERR_ARGUMENT without questions, ERR_ABORTED when the signal fires, ERR_IO when `output` cannot be written
 * @example
 * const { em, rounds } = await evaluate({ questions, agent });
 * assert.ok(em >= 0 && em <= 1 && rounds >= 0);
 */
export async function evaluate(options: EvaluateOptions): Promise<Evaluation> {
  const { questions, concurrency = 256, output } = options;
  if (questions.length === 0)
    throw new SeekError("ERR_ARGUMENT", "questions: expected at least one, got none");
  const started = performance.now();
  const progress = { done: 0, right: 0 };
  const perQuestion = await mapConcurrently(questions, concurrency, async (question) => {
    const result = await evaluateOne(question, options);
    progress.done += 1;
    progress.right += result.em;
    const em = progress.right / progress.done;
    options.onProgress?.({ done: progress.done, total: questions.length, em });
    return result;
  });
  const seconds = (performance.now() - started) / 1000;
  if (output !== undefined) await writeJsonLines(output, perQuestion);
  return summarize(perQuestion, seconds);
}

async function evaluateOne(
  question: Question,
  { agent, seed = 0, rules = "flashrag", signal }: EvaluateOptions,
): Promise<QuestionResult> {
  throwIfAborted(signal, "evaluation");
  const trajectory = await agent(question, signal ? { seed, signal } : { seed });
  throwIfAborted(signal, "evaluation");
  return resultOf(question, trajectory, rules);
}

const noScores = { em: 0, f1: 0, acc: 0, precision: 0, recall: 0 };

function resultOf(question: Question, trajectory: Trajectory, rules: RulesName): QuestionResult {
  const { answer } = trajectory;
  const scores = answer === undefined ? noScores : scoreAnswer(answer, question.answers, rules);
  return {
    id: question.id,
    question: question.question,
    answers: question.answers,
    answer: answer ?? null,
    em: scores.em,
    f1: scores.f1,
    acc: scores.acc,
    precision: scores.precision,
    recall: scores.recall,
    rounds: trajectory.rounds,
    queries: trajectory.queries,
    invalidActions: trajectory.invalidActions,
    failures: trajectory.failures,
    ...(trajectory.failureReasons ? { failureReasons: trajectory.failureReasons } : {}),
    stop: trajectory.stop,
    seconds: trajectory.timings.totalMs / 1000,
    segments: trajectory.segments.map(({ kind, text }) => ({ kind, text })),
  };
}

function summarize(perQuestion: readonly QuestionResult[], seconds: number): Evaluation {
  const questions = perQuestion.length;
  const sum = (value: (result: QuestionResult) => number): number => {
    return perQuestion.reduce((total, result) => total + value(result), 0);
  };
  return {
    em: sum((result) => result.em) / questions,
    f1: sum((result) => result.f1) / questions,
    acc: sum((result) => result.acc) / questions,
    precision: sum((result) => result.precision) / questions,
    recall: sum((result) => result.recall) / questions,
    rounds: sum((result) => result.rounds) / questions,
    secondsPerQuestion: seconds / questions,
    latencySeconds: sum((result) => result.seconds) / questions,
    failures: sum((result) => result.failures),
    questions,
    perQuestion,
  };
}
