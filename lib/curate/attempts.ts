/** Lets an agent try questions until it is right, writes down how each fared, and goes on after a kill. */
import { SeekError, throwIfAborted } from "../base/errors.ts";
import { mapConcurrently } from "../base/map-concurrently.ts";
import { mixSeed } from "../base/seed.ts";
import { type JsonRow, rowError } from "../data/files/jsonl.ts";
import { ProgressLog } from "../data/logs/progress-log.ts";
import type { Question } from "../data/question.ts";
import type { Agent } from "../rollout/agents/agent.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { WrittenSegment } from "./samples.ts";

/** How one question fared. */
export interface Outcome {
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

/** Says whether a trajectory is right; an object with a reason where that cannot be told, as when a judge fails. */
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
  readonly outcomes: readonly Outcome[];
  /** Questions that could not be tried or judged; a further run tries them again. */
  readonly failures: readonly { readonly id: string; readonly reason: string }[];
}

/**
 * Tries every question up to `maxAttempts` times until a rollout is right. Every attempt's draws follow from the seed,
 * the question's id and the attempt's number, so a run that was killed and goes on has the same outcomes.
 *
 * @param questions - with ids of their own
 * @param options - agent, rule, bounds, log
 * @returns outcomes in order, and what failed
 * @throws ERR_ABORTED when the signal fires; ERR_REMOTE when every question failed; ERR_FORMAT when the log is of other
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
  const log = options.log && (await ProgressLog.open(options.log.path, { ...options.log, resume: true }));
  try {
    const kept = keptOutcomes(log?.kept ?? [], questions);
    const progress = { done: kept.size, right: 0, failed: 0, total: questions.length };
    for (const { isRight } of kept.values()) progress.right += Number(isRight);
    options.onProgress?.(progress);
    const tried = await mapConcurrently(questions, options.concurrency ?? 256, async (question) => {
      const known = kept.get(question.id);
      if (known) return known;
      const outcome = await attemptOne(question, options);
      if ("reason" in outcome) progress.failed += 1;
      else {
        await log?.add(outcome);
        progress.right += Number(outcome.isRight);
      }
      progress.done += 1;
      options.onProgress?.(progress);
      return outcome;
    });
    return gathered(tried);
  } finally {
    await log?.close();
  }
}

type Failure = Attempts["failures"][number];

async function attemptOne(question: Question, options: AttemptOptions): Promise<Outcome | Failure> {
  const { agent, isRight, maxAttempts = 1, seed = 0, signal } = options;
  const base = { id: question.id, question: question.question };
  try {
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      throwIfAborted(signal, "attempts");
      const how = { seed: mixSeed(seed, "attempt", attempt) };
      const trajectory = await agent(question, signal ? { ...how, signal } : how);
      throwIfAborted(signal, "attempts");
      const verdict = trajectory.answer === undefined ? false : await isRight(trajectory, question);
      if (typeof verdict === "object") return { id: question.id, reason: verdict.failure };
      if (verdict)
        return { ...base, attempts: attempt, isRight: true, ...written(trajectory, question, options) };
    }
    return { ...base, attempts: maxAttempts, isRight: false };
  } catch (error) {
    // One teacher's refusal or silence must not cost what the other questions have earned.
    if (!(error instanceof SeekError) || error.code !== "ERR_REMOTE") throw error;
    return { id: question.id, reason: error.message };
  }
}

function written(
  trajectory: Trajectory,
  question: Question,
  { write }: AttemptOptions,
): Pick<Outcome, "demonstration"> {
  if (write === undefined) return {};
  const { answer = "", rounds } = trajectory;
  return { demonstration: { answer, rounds, segments: write(trajectory, question) } };
}

function gathered(tried: readonly (Outcome | Failure)[]): Attempts {
  const failures = tried.filter((each): each is Failure => "reason" in each);
  const outcomes = tried.filter((each): each is Outcome => !("reason" in each));
  if (failures.length > 0 && outcomes.length === 0) {
    const what = `all ${failures.length} questions failed; the first: ${failures[0]!.reason}`;
    throw new SeekError("ERR_REMOTE", what);
  }
  return { outcomes, failures };
}

function keptOutcomes(rows: readonly JsonRow[], questions: readonly Question[]): Map<string, Outcome> {
  const texts = new Map(questions.map(({ id, question }) => [id, question]));
  if (texts.size < questions.length) {
    const seen = new Set<string>();
    const twice = questions.find(({ id }) => seen.has(id) || !seen.add(id));
    throw new SeekError("ERR_ARGUMENT", `questions: expected ids of their own, got "${twice?.id}" twice`);
  }
  const kept = new Map<string, Outcome>();
  for (const row of rows) {
    const { id, question } = row.value;
    if (typeof id !== "string" || texts.get(id) !== question) {
      throw rowError(
        row,
        "a question of the file given now",
        `${JSON.stringify(id)}, ${JSON.stringify(question)}`,
      );
    }
    kept.set(id, row.value as unknown as Outcome);
  }
  return kept;
}
