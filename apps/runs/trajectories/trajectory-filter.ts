/** Which trajectories of a log are wanted. */
import type { Column } from "../logs/column.ts";

/** All that is given must hold. */
export interface TrajectoryFilter {
  /** A trajectory without a reward has none within bounds. */
  readonly minReward?: number | undefined;
  readonly maxReward?: number | undefined;
  /** 1 right, 0 wrong, by exact match. */
  readonly em?: number | undefined;
  /** Any of these. */
  readonly stops?: readonly string[] | undefined;
  readonly minSearches?: number | undefined;
  readonly maxSearches?: number | undefined;
  /** Part of the question, whatever its case. */
  readonly text?: string | undefined;
  readonly fromStep?: number | undefined;
  readonly toStep?: number | undefined;
}

/** What trajectories are sorted by; `row` is the order of the log. */
export type TrajectorySort = "row" | "step" | "reward" | "em" | "searches" | "turns" | "tokens";

/** What a filter looks at. */
interface FilteredLog {
  readonly columns: Readonly<Record<"reward" | "em" | "stop" | "searches" | "step" | "question", Column>>;
  readonly questions: readonly string[];
  readonly stops: readonly string[];
}

/** A test of rows; only what the filter names is looked at. */
export function passes(filter: TrajectoryFilter, log: FilteredLog): (row: number) => boolean {
  const { columns } = log;
  const tests = [
    between(columns.reward, filter.minReward, filter.maxReward),
    between(columns.em, filter.em, filter.em),
    between(columns.searches, filter.minSearches, filter.maxSearches),
    between(columns.step, filter.fromStep, filter.toStep),
    ...anyOf(columns.stop, log.stops, filter.stops && ((stop) => filter.stops!.includes(stop))),
    ...anyOf(columns.question, log.questions, holding(filter.text)),
  ].filter((test) => test !== undefined);
  return (row) => tests.every((test) => test(row));
}

type RowTest = (row: number) => boolean;

function between(column: Column, min: number | undefined, max: number | undefined): RowTest | undefined {
  if (min === undefined && max === undefined) return undefined;
  const [low, high] = [min ?? Number.NEGATIVE_INFINITY, max ?? Number.POSITIVE_INFINITY];
  return (row) => column.at(row) >= low && column.at(row) <= high;
}

/** Each text is looked at once, however many rows have it. */
function anyOf(
  column: Column,
  texts: readonly string[],
  isWanted: ((text: string) => boolean) | undefined,
): RowTest[] {
  if (isWanted === undefined) return [];
  const wanted = Uint8Array.from(texts, (text) => Number(isWanted(text)));
  return [(row) => wanted[column.at(row)] === 1];
}

function holding(text: string | undefined): ((question: string) => boolean) | undefined {
  if (text === undefined || text === "") return undefined;
  const part = text.toLowerCase();
  return (question) => question.toLowerCase().includes(part);
}
