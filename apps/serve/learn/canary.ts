/** Whether a candidate earns more than what is served, or less. */

/** Of two versions of a model, the one that most requests get, and the one that is tried on some. */
export type Arm = "stable" | "candidate";

/** What is decided about a candidate: nothing yet, that it is better, or that it is worse. */
export type Verdict = "open" | "better" | "worse";

/** How sure a verdict must be. */
export interface CanaryOptions {
  /** Newest rewards of each version that are compared. */
  readonly window: number;
  /** Rewards of each version before there is a verdict. */
  readonly least: number;
  /** Standard errors between the two means. */
  readonly errors: number;
}

interface Moments {
  readonly mean: number;
  /** Square of the mean's standard error. */
  readonly error2: number;
}

function momentsOf(rewards: readonly number[]): Moments {
  const mean = rewards.reduce((sum, each) => sum + each, 0) / rewards.length;
  const variance = rewards.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (rewards.length - 1);
  return { mean, error2: variance / rewards.length };
}

/** The newest rewards of both versions, and Welch's statistic between them. */
export class Canary {
  readonly #options: CanaryOptions;
  readonly #rewards: Readonly<Record<Arm, number[]>> = { stable: [], candidate: [] };

  constructor(options: CanaryOptions) {
    this.#options = options;
  }

  /** Mean rewards, of versions that have some. */
  get means(): Partial<Record<Arm, number>> {
    const known = Object.entries(this.#rewards).filter(([, rewards]) => rewards.length > 0);
    return Object.fromEntries(
      known.map(([arm, rewards]) => [arm, rewards.reduce((sum, each) => sum + each, 0) / rewards.length]),
    );
  }

  /** Those that are compared. */
  rewardsOf(arm: Arm): readonly number[] {
    return [...this.#rewards[arm]];
  }

  /** Takes a reward. @returns what it decides */
  add(arm: Arm, reward: number): Verdict {
    const rewards = this.#rewards[arm];
    rewards.push(reward);
    if (rewards.length > this.#options.window) rewards.shift();
    return this.#verdict();
  }

  /** Forgets all rewards: the versions are others now. */
  clear(): void {
    for (const rewards of Object.values(this.#rewards)) rewards.length = 0;
  }

  #verdict(): Verdict {
    const { stable, candidate } = this.#rewards;
    if (Math.min(stable.length, candidate.length) < this.#options.least) return "open";
    const [before, after] = [momentsOf(stable), momentsOf(candidate)];
    const distance = after.mean - before.mean;
    const bound = this.#options.errors * Math.sqrt(before.error2 + after.error2);
    if (Math.abs(distance) <= bound) return "open";
    return distance > 0 ? "better" : "worse";
  }
}
