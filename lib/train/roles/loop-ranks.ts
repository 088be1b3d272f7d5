/** The ranks of a training as its loop meets them: what they go through together, and what they tell each other of rollouts. */
import type { ProcessGroup } from "../../comm/process-group.ts";
import { ResponseLengths } from "../../rollout/response-lengths.ts";
import type { RlOptions } from "../rl-options.ts";
import { type StepRollouts, type StepTask, stepRollouts } from "../step-rollouts.ts";
import type { RankRoles } from "./rank-roles.ts";
import { rolloutTelling } from "./told-rollouts.ts";

/** Which ranks there are. */
interface LoopRanksOptions {
  readonly roles: RankRoles | undefined;
  /** Those that train. */
  readonly training: ProcessGroup | undefined;
  readonly staleness: number | undefined;
}

/** Without a job all that is done here is done alone. */
export class LoopRanks {
  /** What all ranks go through in the same order, step by step. */
  readonly all: ProcessGroup | undefined;
  readonly #exchange: ProcessGroup | undefined;
  readonly #options: LoopRanksOptions;

  private constructor(options: LoopRanksOptions, exchange: ProcessGroup | undefined) {
    this.#options = options;
    this.#exchange = exchange;
    this.all = options.roles?.job ?? options.training;
  }

  /** Meets the ranks; rollouts ahead of their step are told beside what goes on. */
  static async open(options: LoopRanksOptions): Promise<LoopRanks> {
    const { roles, training, staleness = 0 } = options;
    const exchange = staleness > 0 ? await (roles?.job ?? training)?.beside("rollouts") : undefined;
    return new LoopRanks(options, exchange);
  }

  /** Rolls out a step after the other; of several ranks, all tell each other what came of a step before the next. */
  rollingOut(task: StepTask): (step: number, signal: AbortSignal) => Promise<StepRollouts> {
    const processGroup = this.#exchange ?? this.all;
    const lengths = new ResponseLengths();
    const name = processGroup?.newName("rollouts") ?? "";
    const askers = this.#options.roles?.rolloutRanks;
    let after: Promise<unknown> = Promise.resolve();
    return (step, signal) => {
      const ranks = processGroup && { processGroup, name, askers, lengths, after, telling: rolloutTelling };
      const rollouts = stepRollouts(step, { ...task, signal }, ranks);
      after = rollouts.catch(() => undefined);
      return rollouts;
    };
  }

  /** Ends this rank's work with an error, and that of the others wherever they wait for it. */
  async endWith(error: unknown): Promise<void> {
    const { roles, training } = this.#options;
    roles?.fail(error);
    this.#exchange?.fail(error);
    await Promise.all([training?.endWith(error), roles?.job.endWith(error)]);
  }

  /** Leaves what was met; returns when all ranks have. */
  async close(): Promise<void> {
    await this.#exchange?.close();
  }

  /** Closes at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Whether a step, from 1 and 0 before the first, is evaluated. */
export function isEvaluated(
  step: number,
  { evaluation, steps }: Pick<RlOptions, "evaluation" | "steps">,
): boolean {
  if (evaluation === undefined) return false;
  return step === 0 ? evaluation.isFirst === true : step % evaluation.every === 0 || step === steps;
}
