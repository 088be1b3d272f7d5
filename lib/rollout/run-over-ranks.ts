/** Questions over the ranks of a job: each is asked on one of them, and all learn what came of it. */
import { claims } from "../comm/claims.ts";
import type { ProcessGroup } from "../comm/process-group.ts";
import type { Question } from "../data/question.ts";
import { runQuestions } from "./run-questions.ts";

/** What a rank begins at once of its share; the rest goes to whoever is idle. */
const begunAtOnce = 0.75;

/** How questions are asked over ranks. */
interface RankedQuestions<Result> {
  /** The ranks, which all ask the same; undefined for one process. */
  readonly processGroup: ProcessGroup | undefined;
  /** What each question is expected to cost, in any unit. */
  readonly sizes: readonly number[];
  /** What comes of questions, for errors. */
  readonly what: string;
  /** May depend on nothing but the question and its index: who asks it depends on time. */
  readonly ask: (question: Question, index: number, signal: AbortSignal) => Promise<Result>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks all questions at once, each on one rank, and tells every rank all results.
 *
 * @param questions - the same on all ranks
 * @param options - the ranks, sizes, and how one is asked
 * @returns one result per question, in their order
 * @throws what `ask` throws, on all ranks; ERR_REMOTE naming a rank that is gone
 */
export async function runOverRanks<Result>(
  questions: readonly Question[],
  { processGroup, sizes, what, ask, signal }: RankedQuestions<Result>,
): Promise<readonly (Result | undefined)[]> {
  const asking = { ask, patience: 0, signal };
  if (processGroup === undefined) {
    const { results } = await runQuestions(questions, { ...asking, concurrency: questions.length });
    return results;
  }
  const take = claims(processGroup, what, sizes);
  const concurrency = Math.ceil((questions.length / processGroup.size) * begunAtOnce);
  const own = runQuestions(questions, { ...asking, take, concurrency });
  const told = await processGroup.allGather(
    what,
    own.then(({ results }) => results),
  );
  return questions.map((_, i) => told.find((results) => results[i] !== undefined)?.[i]);
}
