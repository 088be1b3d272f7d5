/** Gradients and updates of a policy, and log-probabilities of sequences under any model. */

import { native } from "../../base/addon/native.ts";
import type { LossStats, NativeLossOptions, NativeTrainer } from "../../base/addon/training.ts";
import { checkOptions, type OptionKinds, optionsOf } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import type { ProcessGroup } from "../../comm/process-group.ts";
import type { Model } from "../../model/model.ts";
import { type Policy, policyParts } from "../../model/policy.ts";
import { type KlEstimator, klEstimators, objectives } from "../algorithm/names.ts";
import {
  correctionKind,
  nativeCorrection,
  type OffPolicyCorrection,
} from "../algorithm/off-policy-correction.ts";
import { onOneRankEach } from "../batch/families.ts";
import { defaultMaxTokens, distribute, emptyRows, forEachMicroBatch } from "../batch/micro-batches.ts";
import { type TrainSequence, withoutArrays } from "../batch/packing.ts";
import { activationBudget, Learner, type SettledOptions } from "./learner.ts";
import { adamW, type LearnerOptions } from "./learner-options.ts";
import { opened, sumOverParts } from "./shares.ts";

export type { LossStats } from "../../base/addon/training.ts";

/** The one loss; SFT, PPO, GRPO and their relatives are options of it. */
export interface LossOptions {
  /**
   * `likelihood`: SFT. `clipped`: PPO's ratio per token. `clipped-sequence`: GSPO's ratio per sequence. `cispo`: the clipped
   * ratio as a weight, without a gradient, of the log-probability (arXiv 2506.13585).
   *
   * @default "likelihood"
   */
  readonly objective?: (typeof objectives)[number];
  /** The ratio is clipped to `[1 - clipLow, 1 + clipHigh]`. @default 0.2 */
  readonly clipLow?: number;
  /** @default clipLow */
  readonly clipHigh?: number;
  /** With a negative advantage a row loses at most this times its size (arXiv 1912.09729). @default no bound */
  readonly clipDual?: number;
  /** Weighs tokens that other weights sampled; needs `rolloutLogprobs` and an objective with a ratio. @default none */
  readonly correction?: OffPolicyCorrection | undefined;
  /** Weight of the entropy bonus. @default 0 */
  readonly entropyCoef?: number;
  /** KL to the reference inside the loss; needs `referenceLogprobs`. @default none */
  readonly kl?: { readonly estimator: KlEstimator; readonly coef: number };
  /** The rollout's; logits are divided by it. @default 1 */
  readonly temperature?: number;
}

const lossKinds: OptionKinds<LossOptions> = {
  objective: objectives,
  clipLow: "number",
  clipHigh: "number",
  clipDual: "number",
  correction: correctionKind,
  entropyCoef: "number",
  kl: optionsOf<NonNullable<LossOptions["kl"]>>({ estimator: klEstimators, coef: "number" }, [
    "estimator",
    "coef",
  ]),
  temperature: "number",
};

function nativeLoss(options: LossOptions): NativeLossOptions {
  const { objective = "likelihood", clipLow = 0.2, clipHigh = clipLow, clipDual = 0 } = options;
  const { entropyCoef = 0, kl, temperature = 1, correction } = options;
  if (correction !== undefined && objective === "likelihood") {
    const what = "expected an objective with a ratio, got likelihood";
    throw new SeekError("ERR_ARGUMENT", `correction: ${what}`);
  }
  const klEstimator = kl?.estimator ?? "none";
  const clip = { clipLow, clipHigh, clipDual, ...nativeCorrection(correction) };
  return { objective, ...clip, entropyCoef, klEstimator, klCoef: kl?.coef ?? 0, temperature };
}

/** Log-probability of each row's next token, and the entropy of its distribution, per sequence. */
export interface SequenceScores {
  readonly logprobs: Float32Array[];
  readonly entropies: Float32Array[];
}

/** How sequences are scored. */
interface ScoringOptions {
  /** Logits are divided by it. @default 1 */
  readonly temperature?: number | undefined;
  /** Tokens of one forward. @default 4096 */
  readonly maxTokens?: number | undefined;
  /** Ranks that score the same sequences, each a part of them. @default one process */
  readonly processGroup?: ProcessGroup | undefined;
}

/**
 * Scores every row of every sequence under a model, without gradients: the reference policy, or the policy itself
 * before an update.
 *
 * @param policy - any model, or an adapter on one
 * @param sequences - what to score
 * @param options - see {@link ScoringOptions}
 * @returns natural logs and nats, one array per sequence, one entry per row
 * @throws ERR_RANGE for an id outside the vocabulary, and for a sequence beyond the model's `contextTokens`; ERR_ARGUMENT for
 *   a process group beside one that shares the model
 */
export async function scoreSequences(
  policy: Policy,
  sequences: readonly TrainSequence[],
  options: ScoringOptions = {},
): Promise<SequenceScores> {
  const { temperature = 1, maxTokens = defaultMaxTokens, processGroup } = options;
  const { handles, model } = policyParts(policy, "scoreSequences");
  if (model.tensorParallel !== undefined && processGroup !== undefined) {
    const remedy = "leave processGroup out: its ranks score every sequence together";
    throw new SeekError("ERR_ARGUMENT", `processGroup: expected none for a shared model (${remedy})`);
  }
  const score = async (own: readonly TrainSequence[]) => {
    const [logprobs, entropies] = [emptyRows(own), emptyRows(own)];
    await forEachMicroBatch(
      own.map(withoutArrays),
      { config: policy.config, maxTokens },
      async (batch, pieces) => {
        const scores = await native().tokenLogprobs(...handles, batch, temperature);
        distribute(scores.logprobs, pieces, logprobs);
        distribute(scores.entropies, pieces, entropies);
      },
    );
    return own.map((_, i) => ({ logprobs: logprobs[i]!, entropies: entropies[i]! }));
  };
  const scores = await onOneRankEach(sequences, processGroup, "log-probabilities", score);
  return {
    logprobs: scores.map(({ logprobs }) => logprobs),
    entropies: scores.map(({ entropies }) => entropies),
  };
}

/**
 * Trains a model in place, or an adapter on one, whose weights then stay as they are and take no memory for gradients; an
 * engine that shares them samples from the new weights at once.
 *
 * @example
 * await using trainer = await Trainer.open(model, { weightDecay: 0 });
 * await trainer.accumulate([{ tokens, rows, weights }]);
 * const { gradNorm } = await trainer.step({ learningRate: 1e-4 });
 */
export class Trainer extends Learner {
  /** @internal */
  declare protected readonly handle: NativeTrainer;
  /** What is trained. */
  readonly policy: Policy;

  private constructor(handle: NativeTrainer, policy: Policy, options: SettledOptions) {
    super(handle, policy, options);
    this.policy = policy;
  }

  /** The policy's model; that under the adapter where an adapter is trained. */
  get model(): Model {
    return policyParts(this.policy, "trainer").model;
  }

  /**
   * Allocates gradients and moments for a model or an adapter.
   *
   * @param policy - what is trained; it stays the caller's to close
   * @param options - AdamW's settings, and `activationBytes` of a micro-batch
   * @returns the trainer, to be closed
   * @throws ERR_MEMORY when they do not fit; ERR_STATE when the policy is closed or has another trainer; ERR_ARGUMENT for
   *   an adapter with dropout
   */
  static async open(policy: Policy, options: LearnerOptions = {}): Promise<Trainer> {
    const settings = adamW(options);
    const { handles, adapter } = policyParts(policy, "Trainer.open");
    adapter?.checkTrainable();
    const handle = new (native().TrainerHandle)();
    await opened(handle.open(...handles, settings, options.processGroup?.handle), options);
    const activationBytes = await activationBudget(policy, options);
    return new Trainer(handle, policy, { ...options, activationBytes });
  }

  /**
   * Adds the gradients of a loss. The weights of the rows hold the normaliser, so one call with all sequences and many
   * calls with some of them give the same sum (law 3).
   *
   * @param sequences - with `weights`, and whatever else the loss needs
   * @param options - the loss, and `maxTokens` of one micro-batch
   * @returns the sums over all rows
   * @throws ERR_ARGUMENT when the loss needs an array that the sequences lack, and for a correction of a likelihood; ERR_SHAPE when an array does not have one
   *   number per row; ERR_RANGE for an id outside the vocabulary, and for a sequence beyond the model's `contextTokens`;
   *   ERR_STATE once closed
   */
  async accumulate(
    sequences: readonly TrainSequence[],
    options: LossOptions & { readonly maxTokens?: number } = {},
  ): Promise<LossStats> {
    checkOptions("trainer.accumulate", options, { ...lossKinds, maxTokens: "number" });
    const loss = nativeLoss(options);
    const cut = {
      config: this.policy.config,
      maxTokens: options.maxTokens ?? defaultMaxTokens,
      isWhole: loss.objective === "clipped-sequence",
    };
    const { handle } = this;
    return sumOverParts(sequences, cut, this.sharing, {
      newSums: () => handle.newSums(),
      run: (batch, sums) => handle.accumulate(batch, loss, sums, this.recomputedIn(batch)),
      idle: () => handle.idle(),
      readSums: (sums) => handle.readSums(sums),
    });
  }

  /**
   * Log-probabilities of the rows under the policy; {@link scoreSequences} gives entropies and takes any policy.
   *
   * @param sequences - what to score
   * @param options - `temperature` divides the logits; `maxTokens` bounds one forward
   * @returns natural logs, one array per sequence, one entry per row
   * @throws ERR_RANGE for an id outside the vocabulary, and for a sequence beyond the model's `contextTokens`; ERR_STATE
   *   once the model is closed
   */
  async logprobs(
    sequences: readonly TrainSequence[],
    options: { readonly temperature?: number; readonly maxTokens?: number } = {},
  ): Promise<Float32Array[]> {
    checkOptions("trainer.logprobs", options, { temperature: "number", maxTokens: "number" });
    const { processGroup } = this;
    return (await scoreSequences(this.policy, sequences, { ...options, processGroup })).logprobs;
  }
}
