/** The place of a process among those that a launcher started together. */

/** Which process this is, and where all of them meet. */
export interface Place {
  /** From 0 to `size - 1`. */
  readonly rank: number;
  /** Processes in all; at least 2. */
  readonly size: number;
  /** From 0 to `localSize - 1`: which of this machine's processes, and so which of its GPUs. */
  readonly localRank: number;
  /** Processes on this machine. */
  readonly localSize: number;
  /** Name or address at which the store of the ranks is reached. */
  readonly address: string;
  readonly port: number;
  /** The launcher serves the store, and every rank is its client; otherwise rank 0 serves it. */
  readonly isServedByLauncher: boolean;
  /** How often the launcher has started all ranks anew: keys of attempts are told apart by it in a store that outlives them. */
  readonly restarts: number;
}

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A program that starts many processes, known by the variables that it sets for each. */
export interface Launcher {
  /** Whether it started this process. */
  isLauncherOf(environment: Environment): boolean;
  /**
   * @returns undefined where it started one process only
   * @throws ERR_ARGUMENT for a variable that is missing, no number, or contradicts another
   */
  placeOf(environment: Environment): Place | undefined;
}
