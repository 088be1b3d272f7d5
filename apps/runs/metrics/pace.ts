/** How fast a run goes, by the seconds that its last steps took. */
import type { MetricsLog } from "./metrics-log.ts";

/** Steps whose pace counts as that of the run. */
const lastSteps = 20;

/** The pace of a run. */
interface RunPace {
  /** Of all steps that were logged: rollouts and training. */
  readonly seconds: number;
  /** The median of the last steps; undefined before the first. */
  readonly secondsPerStep: number | undefined;
  /** Over the last steps; undefined where tokens are not logged. */
  readonly tokensPerSecond: number | undefined;
}

function secondsOf(metrics: MetricsLog, row: number): number | undefined {
  const parts = ["seconds/rollout", "seconds/train"].map((name) => metrics.value(name, row));
  const known = parts.filter((part) => typeof part === "number");
  return known.length === 0 ? undefined : known.reduce((sum, part) => sum + part, 0);
}

/** The pace of a run by its metrics so far. */
export function paceOf(metrics: MetricsLog): RunPace {
  const rows = Array.from({ length: metrics.numRows }, (_, row) => row);
  const timed = rows.flatMap((row) => {
    const seconds = secondsOf(metrics, row);
    return seconds === undefined ? [] : [{ seconds, tokens: metrics.value("tokens", row) }];
  });
  const last = timed.slice(-lastSteps);
  const sorted = last.map(({ seconds }) => seconds).sort((a, b) => a - b);
  const counted = last.filter(({ tokens }) => typeof tokens === "number");
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const countedSeconds = sum(counted.map(({ seconds }) => seconds));
  return {
    seconds: sum(timed.map(({ seconds }) => seconds)),
    secondsPerStep: sorted[Math.floor(sorted.length / 2)],
    tokensPerSecond:
      countedSeconds > 0 ? sum(counted.map(({ tokens }) => tokens ?? 0)) / countedSeconds : undefined,
  };
}
