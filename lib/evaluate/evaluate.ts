/** Evaluation: an agent over sets of questions, scored, timed, and written down question by question. */
import { checkArgument, checkOptions } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { checkQuestions, type QuestionSet } from "../data/question.ts";
import { type Intervals, intervalsOf, type Means, meansOf } from "./figures.ts";
import { type EvaluateOptions, type EvaluateSetsOptions, evaluateKinds } from "./options.ts";
import type { QuestionResult } from "./question-result.ts";
import { ResultLog } from "./result-log.ts";
import { type LostQuestion, runSet } from "./run-set.ts";

/** Means over all questions. */
export interface Evaluation extends Means {
  /** Time at work on the whole set divided by the number of questions; over resumed runs the sum. */
  readonly secondsPerQuestion: number;
  /** Mean time one question was under way, waiting for others in its batch included. */
  readonly latencySeconds: number;
  /** Mean time of one question with nothing else under way; null when it was not measured. */
  readonly aloneSeconds: number | null;
  /** Searches that failed, in all. */
  readonly failures: number;
  /** Answers that the judge judged, and those that it could not. */
  readonly judged: number;
  readonly judgeFailures: number;
  /** Questions that a server of the policy gave no answer to: they count nowhere, and a resumed run asks them again. */
  readonly lost: readonly LostQuestion[];
  /** How many the means are over. */
  readonly questions: number;
  /** Percentile bootstrap over questions, 95 %, 1000 resamples. */
  readonly intervals: Intervals;
  readonly perQuestion: readonly QuestionResult[];
}

/** One set's figures. */
export interface SetEvaluation extends Evaluation {
  readonly name: string;
}

/**
 * Lets an agent answer every question and scores the answers.
 *
 * @param options - questions and agent; see `EvaluateOptions`
 * @returns means, and each question's outcome in the order given
 * @throws ERR_ARGUMENT without questions and for what is none, ERR_ABORTED when the signal fires, ERR_IO when `output` cannot be written,
 * ERR_FORMAT when a file to be resumed is of other settings, ERR_REMOTE when a server of the policy is gone
 * @example
 * const { em, rounds } = await evaluate({ questions, agent });
 * assert.ok(em >= 0 && em <= 1 && rounds >= 0);
 */
export async function evaluate(options: EvaluateOptions): Promise<Evaluation> {
  checkOptions("evaluate", options, { ...evaluateKinds, questions: "list" }, ["questions", "agent"]);
  const { questions, ...others } = options;
  const { sets } = await evaluateSets([{ name: "questions", questions }], others);
  const { name: _, ...evaluation } = sets[0] as SetEvaluation;
  return evaluation;
}

/**
 * Evaluates one set after the other.
 *
 * @param sets - questions with names
 * @param options - agent, file, seed; see `EvaluateSetsOptions`
 * @returns the figures of each set and over all questions together
 * @throws as `evaluate`
 * @example
 * const { sets, all } = await evaluateSets([{ name: "mine", questions }], { agent });
 * assert.equal(all.questions, sets[0]?.questions);
 */
export async function evaluateSets(
  sets: readonly QuestionSet[],
  options: EvaluateSetsOptions,
): Promise<{ readonly sets: readonly SetEvaluation[]; readonly all: Evaluation }> {
  checkArgument("evaluateSets: sets", sets, "list");
  checkOptions("evaluateSets", options, evaluateKinds, ["agent"]);
  for (const { name, questions } of sets) checkQuestions(name, questions);
  const empty = sets.find(({ questions }) => questions.length === 0);
  if (empty) throw new SeekError("ERR_ARGUMENT", `${empty.name}: expected at least one question, got none`);
  const { output, resume = false, settings, rules = "flashrag", seed = 0, processGroup } = options;
  if (output !== undefined && processGroup !== undefined)
    throw new SeekError("ERR_ARGUMENT", "output: expected without processGroup");
  const log =
    output === undefined
      ? undefined
      : await ResultLog.open(output, { resume, settings: { settings, rules, seed } });
  try {
    const done: SetEvaluation[] = [];
    for (const set of sets) {
      const { name } = set;
      const run = await runSet(set, options, log);
      done.push({ name, ...summarize(run.results, { ...run, seed }) });
    }
    return { sets: done, all: joined(done, seed) };
  } finally {
    await log?.close();
  }
}

interface Circumstances {
  readonly seconds: number;
  readonly aloneSeconds: number | null;
  readonly lost: readonly LostQuestion[];
  readonly seed: number;
}

function summarize(
  perQuestion: readonly QuestionResult[],
  { seconds, aloneSeconds, lost, seed }: Circumstances,
): Evaluation {
  const questions = perQuestion.length;
  return {
    ...meansOf(perQuestion),
    secondsPerQuestion: seconds / questions,
    latencySeconds: perQuestion.reduce((sum, each) => sum + each.seconds, 0) / questions,
    aloneSeconds,
    failures: perQuestion.reduce((sum, each) => sum + each.failures, 0),
    judged: perQuestion.filter(({ judge }) => typeof judge === "number").length,
    judgeFailures: perQuestion.filter(({ judgeFailure }) => judgeFailure !== undefined).length,
    lost,
    questions,
    intervals: intervalsOf(perQuestion, { seed }),
    perQuestion,
  };
}

function joined(sets: readonly SetEvaluation[], seed: number): Evaluation {
  const seconds = sets.reduce((sum, each) => sum + each.secondsPerQuestion * each.questions, 0);
  const times = sets.map((each) => each.aloneSeconds).filter((time) => time !== null);
  const aloneSeconds = times.length === 0 ? null : times.reduce((sum, time) => sum + time, 0) / times.length;
  return summarize(
    sets.flatMap(({ perQuestion }) => perQuestion),
    { seconds, aloneSeconds, lost: sets.flatMap(({ lost }) => lost), seed },
  );
}
