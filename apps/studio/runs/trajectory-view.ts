/** Trajectories as the page shows them: a line of the list, one of them whole, a group. */

import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { LoggedHead, LoggedTrajectory } from "../../runs/trajectories/logged-trajectory.ts";
import type { TrajectoryLog } from "../../runs/trajectories/trajectory-log.ts";
import type { MemoryView, SearchRound, TrajectoryDetail, TrajectoryRanges, TrajectoryRow } from "../api.ts";
import { segmentView } from "./segment-tokens.ts";

/** A line of the list. */
export function rowView(row: number, head: LoggedHead): TrajectoryRow {
  const { step, id, question, answer, reward, em, stop, turns, rounds, generatedTokens = 0 } = head;
  return {
    ...{ row, step, id, question, answer, reward, em: em === 1 ? 1 : 0, stop, turns },
    ...{ searches: rounds, tokens: generatedTokens },
  };
}

/** One trajectory whole. */
export function detailView(
  row: number,
  logged: LoggedTrajectory,
  { revision, tokenizer }: { readonly revision: number; readonly tokenizer: Tokenizer | undefined },
): TrajectoryDetail {
  const { answers, rewardFailure, failures = [], weightsVersion, isTrained, advantage } = logged;
  const segments = logged.segments.map((segment) => segmentView(segment, tokenizer));
  const told = Object.entries({ rewardFailure, isTrained, advantage, memory: memoryView(logged) });
  return {
    ...rowView(row, logged),
    ...{ revision, answers, failures, weightsVersion, segments, searchRounds: searchRounds(logged) },
    ...Object.fromEntries(told.filter(([, value]) => value !== undefined)),
    hasTokens: segments.some(({ tokens }) => tokens !== undefined),
    hasPieces: segments.some(({ tokens }) => tokens?.pieces !== undefined),
  };
}

/** Queries with what each found, where the log tells. */
export function searchRounds({ queries, found }: Pick<LoggedHead, "queries" | "found">): SearchRound[] {
  return queries.map((round, r) => ({
    queries: round.map((text, q) => {
      const hits = found?.[r]?.[q]?.map((hit, i) => ({ rank: i + 1, ...hit }));
      return hits === undefined ? { text } : { text, hits };
    }),
  }));
}

function memoryView({ memory, segments }: LoggedTrajectory): MemoryView | undefined {
  if (memory === undefined) return undefined;
  const visibleTokens = (segment: number): number => {
    const visible = segments[segment]?.visible ?? Array.from({ length: segment }, (_, i) => i);
    return visible.reduce((sum, i) => sum + (segments[i]?.tokens ?? 0), 0);
  };
  const actions = memory.actions.map(({ value, isDemoted, ...action }) => ({
    ...action,
    ...(value === undefined ? {} : { value }),
    ...(isDemoted && { isDemoted }),
    visibleTokens: visibleTokens(action.segment),
  }));
  return { ...memory, actions };
}

/** What filters can be set to. */
export class Ranges {
  #numRows = 0;
  #revision = -1;
  #rewards: readonly [number, number] | undefined;
  #steps: readonly [number, number] = [0, 0];
  #maxSearches = 0;
  #stops: number[] = [];

  /** Over all rows of a log so far; only those that came since are looked at. */
  of({ revision, numRows, columns, stops }: TrajectoryLog): TrajectoryRanges {
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#numRows = 0;
      this.#rewards = undefined;
      this.#maxSearches = 0;
      this.#stops = [];
    }
    for (; this.#numRows < numRows; this.#numRows += 1) this.#look(this.#numRows, columns);
    const [minReward, maxReward] = this.#rewards ?? [null, null];
    const [firstStep, lastStep] = this.#steps;
    return {
      ...{ minReward, maxReward, maxSearches: this.#maxSearches, firstStep, lastStep },
      stops: stops.map((stop, i) => ({ stop, count: this.#stops[i] ?? 0 })),
    };
  }

  #look(row: number, columns: TrajectoryLog["columns"]): void {
    const [reward, step, stop] = [columns.reward.at(row), columns.step.at(row), columns.stop.at(row)];
    if (!Number.isNaN(reward)) {
      const [min, max] = this.#rewards ?? [reward, reward];
      this.#rewards = [Math.min(min, reward), Math.max(max, reward)];
    }
    const [first, last] = row === 0 ? [step, step] : this.#steps;
    this.#steps = [Math.min(first, step), Math.max(last, step)];
    this.#maxSearches = Math.max(this.#maxSearches, columns.searches.at(row));
    this.#stops[stop] = (this.#stops[stop] ?? 0) + 1;
  }
}
