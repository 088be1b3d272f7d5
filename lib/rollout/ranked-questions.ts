/** Questions over the ranks of a job: each is asked on one of them, and all learn what came of it. */
import { SeekError } from "../base/errors.ts";
import { claims } from "../comm/claims.ts";
import type { ProcessGroup } from "../comm/process-group.ts";

/** What a rank begins at once of its share; the rest goes to whoever is idle. */
const begunAtOnce = 0.75;

/** The ranks that ask the same questions. What comes of one may depend on nothing but the question and its index. */
export interface AskingRanks {
  readonly processGroup: ProcessGroup;
  /** What comes of the questions; names them among all that the group ever asks. */
  readonly what: string;
  /** The numbers of the ranks that ask; the others ask none. @default all */
  readonly askers?: readonly number[] | undefined;
  /** What each question is expected to cost, in any unit. @default all the same */
  readonly sizes?: readonly number[];
  /** What the ranks tell each other first: what comes of these questions follows. @default nothing */
  readonly after?: Promise<unknown>;
}

/** What came of a rank's questions. */
interface Outcome<Result, Loss> {
  /** By question; undefined where it was lost or asked elsewhere. */
  readonly results: readonly (Result | undefined)[];
  readonly lost: readonly Loss[];
}

/** Which questions this rank asks, and how many at once. */
export function ownQuestions(
  count: number,
  { processGroup, what, askers = ranksOf(processGroup), sizes }: AskingRanks,
  most: number,
) {
  if (!askers.includes(processGroup.rank)) return { take: async () => undefined, concurrency: 0 };
  const take = claims(processGroup, what, { sizes: sizes ?? new Array<number>(count).fill(1), askers });
  return { take, concurrency: Math.min(most, Math.ceil((count / askers.length) * begunAtOnce)) };
}

function ranksOf({ size }: ProcessGroup): number[] {
  return Array.from({ length: size }, (_, rank) => rank);
}

/** What came of the questions of all ranks, on each of them. */
export async function gathered<Result, Loss extends { readonly reason: string }>(
  own: Promise<Outcome<Result, Loss>>,
  { processGroup, what, after }: AskingRanks,
): Promise<Outcome<Result, Loss>> {
  // Nobody waits for it while others tell theirs.
  own.catch(() => undefined);
  await after;
  const told = await processGroup.allGather(what, own);
  const count = Math.max(0, ...told.map(({ results }) => results.length));
  const results = Array.from({ length: count }, (_, i) => {
    return told.find((each) => each.results[i] !== undefined)?.results[i];
  });
  const lost = told.flatMap((each) => each.lost);
  if (lost.length === 0 || lost.length < count) return { results, lost };
  throw new SeekError(
    "ERR_REMOTE",
    `${what}: all ${count} questions failed, the first one: ${lost[0]!.reason}`,
  );
}
