/** Runs as the studio shows them: state, curves, configuration, events, control. */

/**
 * `live`: a process holds the run's lock. `finished`: its last step is done. `stopped`: it is not, and nobody works on
 * it. `ended`: it has a final model though not all steps, having reached what it was for, or its steps are not known.
 */
export type RunState = "live" | "finished" | "stopped" | "ended";

/** `rl` has trajectories; `sft` has none. */
type RunKind = "rl" | "sft";

/** One line of the list of runs. */
export interface RunSummary {
  readonly id: string;
  /** The folder, as short as it can be told apart: relative to the root that it was found below. */
  readonly name: string;
  /** The whole path. */
  readonly folder: string;
  readonly kind: RunKind;
  readonly state: RunState;
  /** Finished steps, as the metrics have them. */
  readonly step: number;
  /** Steps in all; null when the run does not say. */
  readonly steps: number | null;
  /** Seconds left at the pace of the last steps; null unless live and known. */
  readonly etaSeconds: number | null;
  /** Seconds of the steps that were logged, rollouts and training. */
  readonly seconds: number;
  /** Tokens a second over the last steps; null where not logged. */
  readonly tokensPerSecond: number | null;
  /** When its metrics were last written, milliseconds since 1970. */
  readonly changedAt: number;
  readonly process: RunProcess | null;
  /** The last step's metrics; empty before the first. */
  readonly last: Readonly<Record<string, number>>;
  /** Exact match of the last evaluation, and after which step that was; null before the first. */
  readonly evaluated: { readonly step: number; readonly em: number } | null;
  /** Up to 60 numbers of the main curve (`reward/total`, else `loss`), for a sparkline. */
  readonly spark: readonly number[];
  /** Trajectories in the log as far as it was read; null for kinds without, and before anybody asked for one. */
  readonly numTrajectories: number | null;
  /** The first of the run's warnings that still hold. */
  readonly warning: string | null;
}

/** Who works on a live run. */
interface RunProcess {
  readonly pid: number;
  readonly host: string;
  /** As the lock has it: `2026-11-23T08:00:00Z`. */
  readonly since: string;
  /** Memory that the process holds, bytes; null for one on another machine. */
  readonly memoryBytes: number | null;
  /** Whether the studio's own process is it. */
  readonly isOwn: boolean;
}

/** `GET /runs`. Live ones first, then by the time of the last change. */
export interface RunList {
  readonly runs: readonly RunSummary[];
}

/** A sentence about a run that somebody should read. */
export interface RunWarning {
  /** `collapse` would end the run; `hint` names what teaches nothing. */
  readonly kind: "collapse" | "hint";
  /** The metric that shows it, to be marked in its curve. */
  readonly metric: string;
  /** The first step at which it held, and the last. */
  readonly fromStep: number;
  readonly toStep: number;
  readonly message: string;
}

/** `GET /runs/:run`. */
export interface RunDetail extends RunSummary {
  /** `config.yaml`, nested as it is; null where the run has none. */
  readonly config: Readonly<Record<string, unknown>> | null;
  /** The same by path, `algorithm.clip.low`, sorted. */
  readonly options: readonly ConfigOption[];
  /** Names of all metrics that were logged, in the order of the log. */
  readonly metrics: readonly string[];
  readonly warnings: readonly RunWarning[];
  readonly checkpoints: readonly { readonly step: number; readonly isBest: boolean }[];
  /** The command that goes on with it; null where it cannot be known. */
  readonly command: string | null;
  /** Why the page cannot stop it now; null when it can. */
  readonly whyNotStop: string | null;
  /** Why the page cannot resume it now; null when it can. */
  readonly whyNotResume: string | null;
}

/** One option. */
export interface ConfigOption {
  readonly path: string;
  /** As JSON. */
  readonly value: string;
}

/** `GET /diff`. */
export interface ConfigDiff {
  readonly first: string;
  readonly second: string;
  /** Options that only one run has, or that differ; a missing one is null. Values are JSON. */
  readonly differences: readonly {
    readonly path: string;
    readonly first: string | null;
    readonly second: string | null;
  }[];
  /** How many are the same. */
  readonly numSame: number;
}

/** Which curves. All optional, in the query string. */
export interface MetricsQuery {
  /** Names, separated by commas. @default all */
  readonly names?: string;
  /** First and last step. @default all */
  readonly from?: number;
  readonly to?: number;
  /** Points of each curve at most, 2 to 10000; longer ones are cut into so many buckets of steps. @default 1000 */
  readonly points?: number;
}

/** `GET /runs/:run/metrics`. */
export interface MetricsPage {
  /** Changes when the log was cut back by a resume: forget what was shown and ask again. */
  readonly revision: number;
  /** Rows of the log so far: `after` of the events, so that nothing is missed between both. */
  readonly next: number;
  readonly series: readonly MetricSeries[];
}

/** One curve; arrays of equal length, steps increasing. A step that has no such number is left out. */
export interface MetricSeries {
  readonly name: string;
  /** The last step of each bucket, or the step itself. */
  readonly steps: readonly number[];
  /** The mean of each bucket, or the number itself; null is not finite (NaN, infinity). */
  readonly values: readonly (number | null)[];
  /** The least and the greatest of each bucket; absent where every step is a point. */
  readonly min?: readonly (number | null)[];
  readonly max?: readonly (number | null)[];
}

/**
 * An event of a run that goes on: the `event:` name is `type`, `data:` the object. The stream begins with a `run`, goes on
 * for as long as the client listens, and sends a comment every 15 seconds.
 *
 * - `run` whenever state, process or ETA changed, and at least every 5 seconds of a live one
 * - `metrics` rows that were logged after `after`, as they come
 * - `trajectories` how many there are now: ask for the list anew
 * - `reset` a resume cut the logs back: ask for everything anew
 */
export type RunEvent =
  | { readonly type: "run"; readonly run: RunSummary }
  | {
      readonly type: "metrics";
      readonly revision: number;
      /** `next` of the page, after these. */
      readonly next: number;
      readonly rows: readonly Readonly<Record<string, number | null>>[];
    }
  | { readonly type: "trajectories"; readonly revision: number; readonly total: number }
  | { readonly type: "reset"; readonly revision: number };

/** `POST /runs/:run/stop` and `/resume`. A refusal has status 409 and says why. */
export interface ControlResult {
  readonly done: "stopping" | "started";
  /** The process that was told, or that was started. */
  readonly pid: number;
}

/** `GET /runs/:run/output`. */
export interface RunOutput {
  /** The text after byte `after`, 64 KiB at most. */
  readonly text: string;
  /** Where to go on. */
  readonly next: number;
  /** Bytes so far. */
  readonly size: number;
  /** Whether a process that was started from here is at work. */
  readonly isRunning: boolean;
  /** Of the last one that was started from here; null before it has ended. */
  readonly exitCode: number | null;
}
