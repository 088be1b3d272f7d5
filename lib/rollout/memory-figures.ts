/** What agents with a memory stack did over many questions, and how little of it stood in their context. */
import type { MemoryActionKind } from "./memory.ts";
import type { Segment, Trajectory } from "./trajectory.ts";

/** Means over trajectories. */
export interface MemoryFigures {
  /** Share of trajectories that took at least one step back. */
  readonly backtrackShare: number;
  /** Share that summed up at least once. */
  readonly summaryShare: number;
  /** Tokens that stood in the context of a turn when it began. */
  readonly visibleTokens: number;
  /** Tokens that would have stood there had nothing been taken away. */
  readonly saidTokens: number;
  /** The most tokens of a trajectory that stood in its context at once. */
  readonly peakTokens: number;
  /** All tokens of a trajectory. */
  readonly totalTokens: number;
  /** Frames that actions took away, per trajectory. */
  readonly pops: number;
  /** Answers that came too early or were too uncertain to count, per trajectory. */
  readonly demoted: number;
  /** Actions of each kind, per trajectory. */
  readonly actions: Readonly<Partial<Record<MemoryActionKind, number>>>;
}

/** What is read of a trajectory. */
export type MemoryTrajectory = Pick<Trajectory, "segments" | "memory">;

/**
 * Counts what memory-stack agents did.
 *
 * @param trajectories - of which those without a memory stack are left out
 * @returns means; undefined when none has a memory stack
 * @example
 * assert.equal(memoryFigures([{ segments: [] }]), undefined);
 */
export function memoryFigures(trajectories: readonly MemoryTrajectory[]): MemoryFigures | undefined {
  const onStack = trajectories.flatMap(({ segments, memory }) => (memory ? [{ segments, memory }] : []));
  if (onStack.length === 0) return undefined;
  const records = onStack.map(({ memory }) => memory);
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const shareOf = (kind: MemoryActionKind): number =>
    mean(records.map(({ actions }) => Number(actions.some((action) => action.kind === kind))));
  const contexts = onStack.flatMap(({ segments }) => contextsOf(segments));
  const kinds = [...new Set(records.flatMap(({ actions }) => actions.map(({ kind }) => kind)))].sort();
  const countOf = (kind: MemoryActionKind): number =>
    mean(records.map(({ actions }) => actions.filter((action) => action.kind === kind).length));
  return {
    backtrackShare: shareOf("backtrack"),
    summaryShare: shareOf("summary"),
    visibleTokens: mean(contexts.map(({ visible }) => visible)),
    saidTokens: mean(contexts.map(({ said }) => said)),
    peakTokens: mean(records.map(({ peakTokens }) => peakTokens)),
    totalTokens: mean(records.map(({ totalTokens }) => totalTokens)),
    pops: mean(records.map(({ actions }) => actions.reduce((sum, { popped }) => sum + popped, 0))),
    demoted: mean(records.map(({ actions }) => actions.filter(({ isDemoted }) => isDemoted).length)),
    actions: Object.fromEntries(kinds.map((kind) => [kind, countOf(kind)])),
  };
}

/** For each turn, the tokens before it, and those of them that it saw. */
function contextsOf(segments: readonly Segment[]): { readonly visible: number; readonly said: number }[] {
  const lengthOf = (numbers: readonly number[]): number =>
    numbers.reduce((sum, i) => sum + (segments[i]?.tokens.length ?? 0), 0);
  return segments.flatMap(({ kind, visible }, i) => {
    if (kind !== "policy") return [];
    const said = lengthOf(segments.slice(0, i).map((_, j) => j));
    return [{ said, visible: visible === undefined ? said : lengthOf(visible) }];
  });
}

/**
 * The figures under names of a run log.
 *
 * @param figures - those of a step's trajectories
 * @returns numbers by name, such as `memory/backtrack_share`
 */
export function loggedMemory(figures: MemoryFigures): Record<string, number> {
  return {
    "memory/backtrack_share": figures.backtrackShare,
    "memory/summary_share": figures.summaryShare,
    "memory/visible_tokens": figures.visibleTokens,
    "memory/said_tokens": figures.saidTokens,
    "memory/peak_tokens": figures.peakTokens,
    "memory/total_tokens": figures.totalTokens,
    "memory/pops": figures.pops,
    "memory/demoted": figures.demoted,
    ...Object.fromEntries(
      Object.entries(figures.actions).map(([kind, count]) => [`memory/actions/${kind}`, count]),
    ),
  };
}
