/** Opens what training needs; native code is loaded here, on demand. */
import type { Policy } from "../../../lib/model/policy.ts";
import type { Algorithm } from "../../../lib/train/algorithm/algorithm.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import type { LearnerOptions } from "../../../lib/train/learner/learner-options.ts";
import type { Trainer } from "../../../lib/train/learner/trainer.ts";
import type { OpenLearners } from "../../../lib/train/open-learners.ts";
import type { StepProbe } from "../../../lib/train/probe.ts";
import type { RlOptions } from "../../../lib/train/rl-options.ts";
import type { SftMetrics, SftOptions } from "../../../lib/train/sft.ts";

/** Opens a trainer of a policy. */
export async function openTrainer(policy: Policy, options: LearnerOptions): Promise<Trainer> {
  const { Trainer } = await import("../../../lib/train/learner/trainer.ts");
  return Trainer.open(policy, options);
}

/** Opens the learners of an algorithm. */
export async function openLearners(
  policy: Policy,
  algorithm: Algorithm,
  options: LearnerOptions,
): Promise<OpenLearners> {
  const { openLearners: open } = await import("../../../lib/train/open-learners.ts");
  return open(policy, algorithm, options);
}

/** Batches and number of steps for a fixed list of sequences. */
export async function planEpochs(
  sequences: readonly TrainSequence[],
  { batchSize, epochs: numEpochs, seed }: Readonly<Record<"batchSize" | "epochs" | "seed", number>>,
): Promise<Pick<SftOptions, "batch" | "steps" | "data">> {
  const { epochs } = await import("../../../lib/train/sft.ts");
  return epochs(sequences, { batchSize, epochs: numEpochs, seed });
}

/** Runs supervised fine-tuning. @returns the last step's metrics; undefined where the run was finished already */
export async function runSft(options: SftOptions): Promise<SftMetrics | undefined> {
  const { sft } = await import("../../../lib/train/sft.ts");
  return sft(options);
}

/** Runs reinforcement learning. */
export async function runRl(options: RlOptions): Promise<void> {
  const { rl } = await import("../../../lib/train/rl.ts");
  await rl(options);
}

/** Measures a step of a training. */
export async function probe(options: RlOptions): Promise<StepProbe> {
  const { probeStep } = await import("../../../lib/train/probe.ts");
  return probeStep(options);
}
