/** Which trajectories a report shows: some that went well and some that did not. */
import type { ExportedTrajectory } from "../exported.ts";

/** What a trajectory earned, for choosing. */
function meritOf({ scores }: ExportedTrajectory): number {
  return scores.reward ?? scores.em ?? 0;
}

/**
 * The best and the worst halves of a choice. Where merits are equal the earlier ones are
 * taken, and of a question's attempts one for each half.
 *
 * @param trajectories - in the order of the log; no more than `count` are held at a time
 * @param count - of both halves together
 */
export async function chooseTrajectories(
  trajectories: AsyncIterable<ExportedTrajectory>,
  count: number,
): Promise<ExportedTrajectory[]> {
  const numBest = Math.ceil(count / 2);
  let best: ExportedTrajectory[] = [];
  let worst: ExportedTrajectory[] = [];
  for await (const each of trajectories) {
    best = kept([...best, each], numBest, (one) => -meritOf(one));
    worst = kept([...worst, each], count, meritOf);
  }
  const others = worst.filter((each) => !best.includes(each));
  return [...best, ...others.slice(0, count - best.length)];
}

/** The first ones by a number, one a question, the rest dropped; equal ones stay in their order. */
function kept(
  list: ExportedTrajectory[],
  count: number,
  by: (each: ExportedTrajectory) => number,
): ExportedTrajectory[] {
  const sorted = list.toSorted((a, b) => by(a) - by(b));
  const isFirst = ({ questionId }: ExportedTrajectory, i: number): boolean =>
    sorted.findIndex((each) => each.questionId === questionId) === i;
  return sorted.filter(isFirst).slice(0, count);
}
