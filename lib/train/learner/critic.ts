/** A critic: a decoder or an adapter of its own with a value head, which predicts the return before each policy token. */

import { native } from "../../base/addon/native.ts";
import type { NativeCritic, ValueStats } from "../../base/addon/training.ts";
import { checkOptions } from "../../base/check-options.ts";
import { type Policy, policyParts } from "../../model/policy.ts";
import { onOneRankEach } from "../batch/families.ts";
import { defaultMaxTokens, distribute, emptyRows, forEachMicroBatch } from "../batch/micro-batches.ts";
import { type TrainSequence, withoutArrays } from "../batch/packing.ts";
import { activationBudget, Learner, type SettledOptions } from "./learner.ts";
import { adamW, type LearnerOptions } from "./learner-options.ts";
import { opened, sumOverParts } from "./shares.ts";

export type { ValueStats } from "../../base/addon/training.ts";

/**
 * Predicts values; its head starts at zero, its trunk as a copy of a model, or of an adapter on the same model.
 *
 * @example
 * await using critic = await Critic.open(policy);
 * const values = await critic.values([{ tokens, rows }]);
 */
export class Critic extends Learner {
  /** @internal */
  declare protected readonly handle: NativeCritic;
  /** What stands under the head; the critic's own. */
  readonly trunk: Policy;

  private constructor(handle: NativeCritic, trunk: Policy, options: SettledOptions) {
    super(handle, trunk, options);
    this.trunk = trunk;
  }

  /**
   * Copies a model, or an adapter alone, and puts a value head on it.
   *
   * @param policy - where the trunk's weights come from; it is not changed
   * @param options - AdamW's settings, and `activationBytes` of a micro-batch
   * @returns the critic, to be closed
   * @throws ERR_MEMORY when the copy does not fit; ERR_STATE when the policy is closed; ERR_ARGUMENT for
   *   an adapter with dropout
   */
  static async open(policy: Policy, options: LearnerOptions = {}): Promise<Critic> {
    const settings = adamW(options);
    policyParts(policy, "Critic.open").adapter?.checkTrainable();
    const trunk = await policy.clone();
    const handle = new (native().CriticHandle)();
    const opening = handle.open(
      ...policyParts(trunk, "critic").handles,
      settings,
      options.processGroup?.handle,
    );
    await opened(opening, options);
    const activationBytes = await activationBudget(trunk, options);
    return new Critic(handle, trunk, { ...options, activationBytes });
  }

  /**
   * Values at the rows: the prediction made before each policy token.
   *
   * @param sequences - what to predict for
   * @param options - `maxTokens` of one forward
   * @returns one array per sequence, one value per row
   * @throws ERR_RANGE for an id outside the vocabulary, and for a sequence beyond the model's `contextTokens`; ERR_STATE
   *   once closed
   */
  async values(
    sequences: readonly TrainSequence[],
    options: { readonly maxTokens?: number } = {},
  ): Promise<Float32Array[]> {
    checkOptions("critic.values", options, { maxTokens: "number" });
    await this.gatherWeights();
    const cut = { config: this.trunk.config, maxTokens: options.maxTokens ?? defaultMaxTokens };
    const predict = async (own: readonly TrainSequence[]): Promise<Float32Array[]> => {
      const values = emptyRows(own);
      await forEachMicroBatch(own.map(withoutArrays), cut, async (batch, pieces) => {
        distribute(await this.handle.values(batch), pieces, values);
      });
      return values;
    };
    return [...(await onOneRankEach(sequences, this.processGroup, "values", predict))];
  }

  /**
   * Adds the gradients of `sum weight * 0.5 * max((v - return)^2, (clip(v, old +- clip) - return)^2)`.
   *
   * @param sequences - with `weights`, `returns` and, unless `clip` is 0, `oldValues`
   * @param options - `clip` of the value's move, `maxTokens` of one micro-batch
   * @returns the sums over all rows
   * @throws ERR_ARGUMENT when an array is missing; ERR_SHAPE when one does not have one number per row; ERR_RANGE
   *   for a sequence beyond the model's `contextTokens`; ERR_STATE once closed
   */
  async accumulate(
    sequences: readonly TrainSequence[],
    options: { readonly clip?: number; readonly maxTokens?: number } = {},
  ): Promise<ValueStats> {
    checkOptions("critic.accumulate", options, { clip: "number", maxTokens: "number" });
    const { clip = 0.5, maxTokens = defaultMaxTokens } = options;
    const { handle } = this;
    return sumOverParts(sequences, { config: this.trunk.config, maxTokens }, this.sharing, {
      newSums: () => handle.newSums(),
      run: (batch, sums) => handle.accumulate(batch, clip, sums, this.recomputedIn(batch)),
      idle: () => handle.idle(),
      readSums: (sums) => handle.readSums(sums),
    });
  }

  /** Releases head, gradients, moments and trunk once the work under way is done; idempotent. */
  override close(): void {
    super.close();
    this.trunk.close();
  }
}
