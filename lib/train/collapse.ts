/** Detects the collapse of a policy in a training's metrics. */
import { optionsOf } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";

/** What is done about a collapse, and how soon it is believed. */
export interface CollapseOptions {
  /**
   * `stop` ends the run with an error; `rollback` sets the weights back to the best checkpoint (`run.best`) and ends the
   * run, or stops where no checkpoint was the best yet; `ignore` watches nothing.
   *
   * @default "stop"
   */
  readonly action?: "stop" | "rollback" | "ignore";
  /** Steps over which numbers are averaged before they are compared; nothing is judged before twice as many. @default 10 */
  readonly window?: number;
  /** Told of a rollback and the step whose weights the run ends with. */
  readonly onRollback?: (collapse: Collapse, step: number) => void;
}

/** Of an option `collapse`. */
export const collapseKind = optionsOf<CollapseOptions>({
  action: ["stop", "rollback", "ignore"],
  window: "number",
  onRollback: "function",
});

/** The numbers that are watched, by their names in the metrics. */
const watchedMetrics = [
  "reward/total",
  "policy/entropy",
  "tokens/response",
  "turns/invalid_share",
  "logprob_gap/mean",
] as const;

/** One of the numbers that are watched. */
export type WatchedMetric = (typeof watchedMetrics)[number];

/** What collapsed, and the means that say so. */
export interface Collapse {
  readonly metric: WatchedMetric;
  /** Mean of the first window. */
  readonly start: number;
  /** Mean of the last window. */
  readonly recent: number;
  /** A sentence with both numbers. */
  readonly message: string;
}

type Row = Readonly<Record<string, number | undefined>>;

/** Ten times the mean gap that law 4 allows where reductions depend on the shape of a batch. */
const maxGap = 0.02;

/** A run has thousands of windows to compare, and none of them may collapse by chance. */
const numErrors = 6;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** The first and the last numbers of one metric, as many as a window has. */
class Track {
  readonly first: number[] = [];
  readonly last: number[] = [];
  /** The highest mean that a whole window has had. */
  best = Number.NEGATIVE_INFINITY;
  readonly #window: number;
  #previous: number | undefined;
  readonly #differences: number[] = [];

  constructor(window: number) {
    this.#window = window;
  }

  add(value: number): void {
    if (this.#previous !== undefined) this.#differences.push(Math.abs(value - this.#previous));
    this.#previous = value;
    if (this.first.length < this.#window) this.first.push(value);
    this.last.push(value);
    if (this.last.length > this.#window) this.last.shift();
    if (this.last.length === this.#window) this.best = Math.max(this.best, mean(this.last));
  }

  get start(): number {
    return mean(this.first);
  }

  get recent(): number {
    return mean(this.last);
  }

  /**
   * Standard error of the difference of two windows' means. The deviation is that of a normal variable whose neighbours
   * differ by the median difference: neither a slow change of the mean nor one sudden fall widens it.
   */
  get standardError(): number {
    const sorted = this.#differences.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
    const deviation = median / (0.6745 * Math.SQRT2);
    return deviation * Math.sqrt(2 / this.#window);
  }
}

/**
 * Compares the mean of the last steps with that of the first ones. A collapse is
 * - a reward below that of the start by six standard errors and a tenth of the best, or one that lost four fifths of a gain of that size;
 * - without a higher reward than at the start: an entropy of three times the start's and a nat more, or a hundredth of
 *   it; responses of three times or a third of the start's length;
 * - more than half of all turns invalid, and twice as many as at the start;
 * - log-probabilities of rollout and training that differ by 0.02 on average, ten times what law 4 allows;
 * - any of these numbers not finite, at once.
 *
 * @example
 * const guard = new CollapseGuard({ window: 1 });
 * const rewards = [0.5, 0.5, 0.5, 0.1];
 * const seen = rewards.map((reward) => guard.add({ "reward/total": reward })?.metric);
 * assert.deepEqual(seen, [undefined, undefined, undefined, "reward/total"]);
 */
export class CollapseGuard {
  readonly #window: number;
  readonly #tracks = new Map<WatchedMetric, Track>();
  #numSteps = 0;

  /** @throws ERR_RANGE when the window is not a whole number above 0 */
  constructor({ window = 10 }: Pick<CollapseOptions, "window"> = {}) {
    if (!Number.isSafeInteger(window) || window < 1) {
      throw new SeekError("ERR_RANGE", `collapse.window: expected a whole number above 0, got ${window}`);
    }
    this.#window = window;
  }

  /**
   * Takes a step's metrics; those it does not watch are passed over.
   *
   * @returns the collapse that they show, if they show one
   */
  add(metrics: Row): Collapse | undefined {
    this.#numSteps += 1;
    for (const metric of watchedMetrics) {
      const value = metrics[metric];
      if (value === undefined) continue;
      const track = this.#tracks.get(metric) ?? new Track(this.#window);
      this.#tracks.set(metric, track);
      track.add(value);
      if (!Number.isFinite(value)) return this.#collapse(metric, "is not finite");
    }
    return this.#numSteps < 2 * this.#window ? undefined : this.#judge();
  }

  #judge(): Collapse | undefined {
    const reward = this.#tracks.get("reward/total");
    const isBetter = reward !== undefined && reward.recent > reward.start;
    return (
      this.#ofReward(reward) ??
      (isBetter ? undefined : (this.#ofEntropy() ?? this.#ofLength())) ??
      this.#ofInvalid() ??
      this.#ofGap()
    );
  }

  #ofReward(reward: Track | undefined): Collapse | undefined {
    if (reward === undefined) return undefined;
    const noise = Math.max(numErrors * reward.standardError, 0.1 * Math.abs(reward.best));
    const gain = reward.best - reward.start;
    if (reward.recent < reward.start - noise) return this.#collapse("reward/total", "fell below its start");
    if (gain <= noise || reward.recent >= reward.start + 0.2 * gain) return undefined;
    return this.#collapse("reward/total", `lost what it had gained (best ${reward.best.toPrecision(3)})`);
  }

  #ofEntropy(): Collapse | undefined {
    const entropy = this.#tracks.get("policy/entropy");
    if (entropy === undefined) return undefined;
    const { start, recent } = entropy;
    if (recent > Math.max(3 * start, start + 1)) return this.#collapse("policy/entropy", "exploded");
    if (recent < start / 100) return this.#collapse("policy/entropy", "vanished");
    return undefined;
  }

  #ofLength(): Collapse | undefined {
    const length = this.#tracks.get("tokens/response");
    if (length === undefined) return undefined;
    if (length.recent > 3 * length.start) return this.#collapse("tokens/response", "exploded");
    if (length.recent < length.start / 3) return this.#collapse("tokens/response", "vanished");
    return undefined;
  }

  #ofInvalid(): Collapse | undefined {
    const invalid = this.#tracks.get("turns/invalid_share");
    if (invalid === undefined || invalid.recent <= 0.5 || invalid.recent < 2 * invalid.start)
      return undefined;
    return this.#collapse("turns/invalid_share", "rose above half of all turns");
  }

  #ofGap(): Collapse | undefined {
    const gap = this.#tracks.get("logprob_gap/mean");
    if (gap === undefined || gap.recent <= maxGap) return undefined;
    return this.#collapse("logprob_gap/mean", "is ten times what law 4 allows");
  }

  #collapse(metric: WatchedMetric, what: string): Collapse {
    const { start = Number.NaN, recent = Number.NaN } = this.#tracks.get(metric) ?? {};
    const numbers = `${start.toPrecision(3)} in the first ${this.#window} steps, ${recent.toPrecision(3)} in the last`;
    return { metric, start, recent, message: `${metric} ${what}: ${numbers}` };
  }
}
