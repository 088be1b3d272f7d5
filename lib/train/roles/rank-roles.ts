/** The ranks of a job of which some train and the others only generate: who does what, and what they tell each other. */
import { checkOptions, countKind } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { agree } from "../../comm/agreement.ts";
import type { ProcessGroup } from "../../comm/process-group.ts";
import { Adapter } from "../../model/adapter.ts";
import { type Policy, policyParts } from "../../model/policy.ts";
import { broadcastWeights } from "../learner/broadcast-weights.ts";
import { type Settings, valuesByPath } from "../run/settings.ts";

/** Groups of a job's ranks; undefined where this rank is not among them. */
interface RoleGroups {
  readonly training: ProcessGroup | undefined;
  readonly rollout: ProcessGroup | undefined;
  /** The first rank that trains, and all that roll out. */
  readonly weights: ProcessGroup | undefined;
}

/** Where a training begins, as the ranks that roll out are told. */
interface Beginning {
  /** Steps that were finished before. */
  readonly step: number;
  readonly hasEnded: boolean;
}

/** The numbers of an evaluation. */
type Figures = Readonly<Record<string, number>>;

/**
 * The roles of a job's ranks: the last ones only generate, the others only train. A rank that trains calls {@link rl} with a trainer of
 * `roles.training`, one that generates {@link rollOut}; both are given the roles, and otherwise the same.
 *
 * @example
 * await using processGroup = await ProcessGroup.open({ rank: 0, size: 1, port: 29500 });
 * await assert.rejects(RankRoles.open(processGroup, { rolloutRanks: 1 }), { code: "ERR_ARGUMENT" });
 */
export class RankRoles {
  /** All ranks. */
  readonly job: ProcessGroup;
  /** Those that train, which gradients are summed over; undefined on a rank that generates. */
  readonly training: ProcessGroup | undefined;
  /** Those that generate, for evaluations that they share; undefined on a rank that trains. */
  readonly rollout: ProcessGroup | undefined;
  /** The numbers of those that generate. @internal */
  readonly rolloutRanks: readonly number[];
  readonly #weights: ProcessGroup | undefined;

  private constructor(job: ProcessGroup, rolloutRanks: readonly number[], groups: RoleGroups) {
    this.job = job;
    this.rolloutRanks = rolloutRanks;
    this.training = groups.training;
    this.rollout = groups.rollout;
    this.#weights = groups.weights;
  }

  /**
   * Shares out the roles; all ranks call it.
   *
   * @param job - all ranks
   * @param options - how many of them generate, at least one; at least one is left to train
   * @returns the roles, to be closed before the job
   * @throws ERR_ARGUMENT for an unknown key, and where nobody is left to train; ERR_RANGE for a number that cannot be one; ERR_REMOTE naming a rank that is gone
   */
  static async open(job: ProcessGroup, options: { readonly rolloutRanks: number }): Promise<RankRoles> {
    const { rolloutRanks } = checkOptions("RankRoles.open", options, { rolloutRanks: countKind }, [
      "rolloutRanks",
    ]);
    if (rolloutRanks >= job.size) {
      const expected = `at least 1, and 1 of the ${job.size} ranks left to train`;
      throw new SeekError("ERR_ARGUMENT", `rolloutRanks: expected ${expected}, got ${rolloutRanks}`);
    }
    await agree(job, { rolloutRanks });
    const numbers = Array.from({ length: job.size }, (_, rank) => rank);
    const generating = numbers.slice(-rolloutRanks);
    return new RankRoles(job, generating, {
      training: await job.among("training", numbers.slice(0, -rolloutRanks)),
      rollout: await job.among("rollout", generating),
      weights: await job.among("weights", [0, ...generating]),
    });
  }

  /** Whether this rank only generates. */
  get isRollout(): boolean {
    return this.rollout !== undefined;
  }

  /**
   * Tells where the training begins, and gives all ranks that generate its weights.
   *
   * @throws ERR_ARGUMENT where ranks were given other settings, or policies of another shape
   * @internal
   */
  async begin(policy: Policy, settings: Settings, own?: Beginning): Promise<Beginning> {
    const { model } = policyParts(policy, "roles");
    const { config, dtype, weights } = model;
    const adapter = policy instanceof Adapter ? policy.shape : undefined;
    const alike = { ...settings, model: { config, dtype, weights }, adapter };
    await agree(this.job, Object.fromEntries(valuesByPath(alike)));
    const beginning = await this.job.broadcast("where the training begins", own as Beginning);
    await this.shareWeights(policy);
    return beginning;
  }

  /** Gives all ranks that generate the weights that the first one has whole. @internal */
  async shareWeights(policy: Policy): Promise<void> {
    // The engines of those that wait go on until all are there.
    await this.job.allGather("new weights", undefined);
    if (this.#weights !== undefined) await broadcastWeights(policy, this.#weights);
  }

  /** What those that generate have measured. @internal */
  async evaluated(own?: Promise<Figures>): Promise<Figures> {
    const told = await this.job.allGather("an evaluation", own);
    return told[this.rolloutRanks[0]!]!;
  }

  /** Whether there is another step: what the first rank says. @internal */
  goesOn(own?: boolean): Promise<boolean> {
    return this.job.broadcast("whether there is another step", own as boolean);
  }

  /** What weights travel over ends with an error: nobody needs it any more. @internal */
  fail(error: unknown): void {
    this.#weights?.fail(error);
  }

  /** Leaves the groups: returns when all of each have. Idempotent. */
  async close(): Promise<void> {
    for (const group of [this.#weights, this.rollout, this.training]) await group?.close();
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The kind of an option that takes roles. */
export function rolesKind(name: string, value: unknown): void {
  if (!(value instanceof RankRoles)) {
    throw new SeekError("ERR_ARGUMENT", `${name}: expected RankRoles`);
  }
}
