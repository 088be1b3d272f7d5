/** How old the weights were that sampled a step's tokens, in steps. */
import type { Trajectory } from "../../rollout/trajectory.ts";

/** The versions of the weights that steps began with. */
export class StepVersions {
  readonly #began: number[] = [];

  /** A step begins with these weights. */
  begin(weightsVersion: number): void {
    this.#began.push(weightsVersion);
  }

  /** Steps that have begun with newer weights than these: 0 of those that the last step began with. */
  stalenessOf(weightsVersion: number): number {
    const newer = this.#began.findIndex((began) => began > weightsVersion);
    return newer < 0 ? 0 : this.#began.length - newer;
  }
}

/**
 * How stale the policy's tokens are as a step begins to learn from them.
 *
 * @param trajectories - of which segments that tell the weights of their tokens are read
 * @param versions - the step's last
 * @returns mean and largest staleness in steps; nothing where no segment tells
 */
export function stalenessMetrics(
  trajectories: readonly Pick<Trajectory, "segments">[],
  versions: StepVersions,
): Record<string, number> {
  let [count, sum, max] = [0, 0, 0];
  for (const { segments } of trajectories) {
    for (const { weightsVersion, numTokens } of segments.flatMap(({ versionRuns = [] }) => versionRuns)) {
      const staleness = versions.stalenessOf(weightsVersion);
      [count, sum, max] = [count + numTokens, sum + numTokens * staleness, Math.max(max, staleness)];
    }
  }
  return count === 0 ? {} : { "staleness/mean": sum / count, "staleness/max": max };
}
