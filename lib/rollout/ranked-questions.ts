/** Questions over the ranks of a job: each is asked on one of them, and all learn what came of it. */
import { SeekError } from "../base/errors.ts";
import { claims } from "../comm/claims.ts";
import type { ProcessGroup } from "../comm/process-group.ts";

/** What a rank begins at once of its share; the rest goes to whoever is idle. @internal */
export const begunAtOnce = 0.75;

/** A result as it travels: what all ranks are told, and what the first one is told besides. */
interface Told {
  readonly all: unknown;
  readonly first: unknown;
}

/** How results travel between ranks. */
export interface Telling<Result> {
  split(result: Result): Told;
  /** A result of another rank, from what this one was told; without `first` on other ranks than the first. */
  join(told: Partial<Told>, index: number): Result;
}

/** The ranks that ask the same questions. What comes of one may depend on nothing but the question and its index. */
export interface AskingRanks<Result = unknown> {
  readonly processGroup: ProcessGroup;
  /** What comes of the questions; names them among all that the group ever asks. */
  readonly what: string;
  /** The numbers of the ranks that ask; the others ask none. @default all */
  readonly askers?: readonly number[] | undefined;
  /** What each question is expected to cost, in any unit. @default all the same */
  readonly sizes?: readonly number[];
  /** What the ranks tell each other first: what comes of these questions follows. @default nothing */
  readonly after?: Promise<unknown>;
  /** @default results reach all ranks whole */
  readonly telling?: Telling<Result> | undefined;
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

function wholly<Result>(): Telling<Result> {
  return { split: (result) => ({ all: result, first: undefined }), join: ({ all }) => all as Result };
}

/** What came of the questions of all ranks, on each of them; of this one's own all that came of them. */
export async function gathered<Result, Loss extends { readonly reason: string }>(
  own: Promise<Outcome<Result, Loss>>,
  ranks: AskingRanks<Result>,
): Promise<Outcome<Result, Loss>> {
  const { processGroup, what, after, telling = wholly<Result>() } = ranks;
  // Nobody waits for it while others tell theirs.
  own.catch(() => undefined);
  await after;
  const parting = own.then(({ results, lost }) => {
    const parts = results.map((result) => (result === undefined ? undefined : telling.split(result)));
    return { parts, lost };
  });
  const part = ({ parts, lost }: Awaited<typeof parting>) => ({ all: parts.map((each) => each?.all), lost });
  const told = await processGroup.allGather(what, parting.then(part));
  const [{ results: whole }, { parts }] = [await own, await parting];
  const isParted = ranks.telling !== undefined;
  const besides = isParted
    ? await processGroup.gather(
        `${what}, in words`,
        parts.map((each) => each?.first),
      )
    : undefined;
  const count = Math.max(0, ...told.map(({ all }) => all.length));
  const results = Array.from({ length: count }, (_, i) => {
    if (whole[i] !== undefined) return whole[i];
    const rank = told.findIndex(({ all }) => all[i] !== undefined);
    return rank < 0 ? undefined : telling.join({ all: told[rank]!.all[i], first: besides?.[rank]?.[i] }, i);
  });
  const lost = told.flatMap((each) => each.lost);
  if (lost.length === 0 || lost.length < count) return { results, lost };
  throw new SeekError(
    "ERR_REMOTE",
    `${what}: all ${count} questions failed, the first one: ${lost[0]!.reason}`,
  );
}
