/** Lets an agent try questions until it is right, writes down how each fared, and goes on after a kill. */
import { checkOptions, type OptionKinds, optionsOf } from "../../base/check-options.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import { mixSeed } from "../../base/random.ts";
import { type JsonRow, rowError } from "../../data/files/jsonl.ts";
import { ProgressLog } from "../../data/logs/progress-log.ts";
import type { Question } from "../../data/question.ts";
import type { Agent } from "../../rollout/agents/agent.ts";
import { type Loss, type QuestionsProgress, runQuestions } from "../../rollout/run-questions.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import type { WrittenSegment } from "./samples.ts";

/** How one question fared. */
export interface AttemptedQuestion {
  readonly id: string;
  readonly question: string;
  /** Rollouts made; the last one is the right one, if there is one. */
  readonly attempts: number;
  readonly isRight: boolean;
  /** What was answered rightly, and how. */
  readonly demonstration?: WrittenTrajectory;
}

/** A right trajectory as it is written. */
export interface WrittenTrajectory {
  readonly answer: string;
  readonly rounds: number;
  readonly segments: readonly WrittenSegment[];
}

/** Says whether a trajectory is right; an object with a reason where that is not known, as when a judge fails. */
export type IsRight = (
  trajectory: Trajectory,
  question: Question,
) => boolean | { readonly failure: string } | Promise<boolean | { readonly failure: string }>;

/** How questions are tried. */
export interface AttemptOptions {
  readonly agent: Agent;
  readonly isRight: IsRight;
  /** How a right trajectory is written. @default it is not kept */
  readonly write?: (trajectory: Trajectory, question: Question) => readonly WrittenSegment[];
  /** Rollouts of a question until one is right. @default 1 */
  readonly maxAttempts?: number;
  /** @default 0 */
  readonly seed?: number;
  /** Questions under way at once. @default 256 */
  readonly concurrency?: number;
  /** A file of finished questions, gone on with when it is there. */
  readonly log?: { readonly path: string; readonly settings: object };
  readonly onProgress?: (progress: AttemptProgress) => void;
  readonly signal?: AbortSignal;
}

/** What `attemptQuestions` takes. */
export const attemptKinds: OptionKinds<AttemptOptions> = {
  agent: "function",
  isRight: "function",
  write: "function",
  maxAttempts: "number",
  seed: "number",
  concurrency: "number",
  log: optionsOf<NonNullable<AttemptOptions["log"]>>({ path: "string", settings: "object" }, [
    "path",
    "settings",
  ]),
  onProgress: "function",
  signal: "signal",
};

/** How far it has come. */
export interface AttemptProgress {
  readonly done: number;
  readonly total: number;
  readonly right: number;
  readonly failed: number;
}

/** How all questions fared. */
export interface Attempts {
  /** In the order of the questions, without those that failed. */
  readonly outcomes: readonly AttemptedQuestion[];
  /** Questions that could not be tried or judged; a further run tries them again. */
  readonly failures: readonly Loss[];
}

/**
 * Tries every question up to `maxAttempts` times until a rollout is right. Every attempt's draws follow from the seed,
 * the question's id and the attempt's number, so a run that was killed and goes on has the same outcomes.
 *
 * @param questions - with ids of their own
 * @param options - agent, rule, bounds, log
 * @returns outcomes in order, and what failed
 * @throws ERR_ABORTED when the signal fires; ERR_REMOTE when every question, or sixteen in a row, failed; ERR_FORMAT when the log is of other
 *   settings or questions; ERR_IO
 * @example
 * const isRight = (trajectory, question) => emReward(trajectory, question) === 1;
 * const { outcomes } = await attemptQuestions(questions, { agent, isRight, maxAttempts: 2 });
 * assert.ok(outcomes[0].isRight || outcomes[0].attempts === 2);
 */
export async function attemptQuestions(
  questions: readonly Question[],
  options: AttemptOptions,
): Promise<Attempts> {
  checkOptions("attemptQuestions", options, attemptKinds, ["agent", "isRight"]);
  const { concurrency, signal, onProgress } = options;
  const log = options.log && (await ProgressLog.open(options.log.path, { ...options.log, resume: true }));
  try {
    const known = keptOutcomes(log?.kept ?? [], questions);
    let right = [...known.values()].filter(({ isRight }) => isRight).length;
    const tell = ({ done, total, lost }: QuestionsProgress): void =>
      onProgress?.({ done, total, right, failed: lost });
    tell({ done: known.size, total: questions.length, lost: 0 });
    const { results, lost } = await runQuestions(questions, {
      ask: (question, _, whileWanted) => attemptOne(question, { ...options, signal: whileWanted }),
      finish: async (outcome) => {
        await log?.add(outcome);
        right += Number(outcome.isRight);
        return outcome;
      },
      ...{ known, concurrency, signal, onProgress: tell },
    });
    return { outcomes: results.filter((outcome) => outcome !== undefined), failures: lost };
  } finally {
    await log?.close();
  }
}

async function attemptOne(question: Question, options: AttemptOptions): Promise<AttemptedQuestion> {
  const { agent, isRight, maxAttempts = 1, seed = 0, signal } = options;
  const base = { id: question.id, question: question.question };
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    throwIfAborted(signal, "attempts");
    const trajectory = await agent(question, { seed: mixSeed(seed, "attempt", attempt), signal });
    throwIfAborted(signal, "attempts");
    const verdict = trajectory.answer === undefined ? false : await isRight(trajectory, question);
    // What cannot be judged is lost, as what a server does not answer.
    if (typeof verdict === "object") throw new SeekError("ERR_REMOTE", verdict.failure);
    if (verdict)
      return { ...base, attempts: attempt, isRight: true, ...written(trajectory, question, options) };
  }
  return { ...base, attempts: maxAttempts, isRight: false };
}

function written(
  trajectory: Trajectory,
  question: Question,
  { write }: AttemptOptions,
): Pick<AttemptedQuestion, "demonstration"> {
  if (write === undefined) return {};
  const { answer = "", rounds } = trajectory;
  return { demonstration: { answer, rounds, segments: write(trajectory, question) } };
}

/** The outcomes of an earlier run, by the places of their questions. */
function keptOutcomes(
  rows: readonly JsonRow[],
  questions: readonly Question[],
): Map<number, AttemptedQuestion> {
  const places = new Map(questions.map(({ id }, place) => [id, place]));
  if (places.size < questions.length) {
    const seen = new Set<string>();
    const twice = questions.find(({ id }) => seen.has(id) || !seen.add(id));
    throw new SeekError("ERR_ARGUMENT", `questions: expected ids of their own, got "${twice?.id}" twice`);
  }
  const kept = new Map<number, AttemptedQuestion>();
  for (const row of rows) {
    const { id, question } = row.value;
    const place = places.get(id as string);
    if (place === undefined || questions[place]?.question !== question) {
      throw rowError(
        row,
        "a question of the file given now",
        `${JSON.stringify(id)}, ${JSON.stringify(question)}`,
      );
    }
    kept.set(place, row.value as unknown as AttemptedQuestion);
  }
  return kept;
}
