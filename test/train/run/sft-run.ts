/** A small SFT run as a program of its own, so that a test can kill it: `node sft-run.js FOLDER [FORM]`. */
import { pathToFileURL } from "node:url";
import { native } from "../../../lib/base/addon/native.ts";
import type { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Model, type ModelOptions } from "../../../lib/model/model.ts";
import type { Policy } from "../../../lib/model/policy.ts";
import { schedule } from "../../../lib/train/algorithm/schedule.ts";
import type { LearnerOptions } from "../../../lib/train/learner/learner-options.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import type { Settings } from "../../../lib/train/run/settings.ts";
import { epochs, type SftMetrics, sft } from "../../../lib/train/sft.ts";
import { filled, tinySequence, tinyShape } from "../tiny.ts";

export const sftRunSteps = 40;

/** What is trained, and how AdamW keeps what it keeps. */
interface SftForm extends LearnerOptions, ModelOptions {
  readonly isAdapter?: boolean;
}

/** Forms whose runs are killed and resumed. */
export const sftForms = {
  weights: {},
  "adapter with 8-bit moments": { isAdapter: true, moments: "8-bit" },
  "adapter on nf4": { isAdapter: true, weights: "nf4", dtype: "bfloat16" },
  "stochastic rounding": { dtype: "bfloat16", moments: "8-bit", masterWeights: false },
} as const satisfies Record<string, SftForm>;

/** The name of a form. */
export type SftFormName = keyof typeof sftForms;

/** How a run is watched, and who takes part. */
interface SftRun {
  readonly form?: SftFormName;
  readonly steps?: number;
  readonly processGroup?: ProcessGroup | undefined;
  /** Whether the ranks share the model instead, and this one trains. */
  readonly sharesModel?: boolean | undefined;
  readonly learner?: Omit<LearnerOptions, "processGroup">;
  /** A folder whose numbers are read when they are needed. @default a model is made */
  readonly loaded?: string | undefined;
  /** @default the form's */
  readonly dtype?: Model["dtype"] | undefined;
  /** The highest learning rate. @default 3e-3 */
  readonly peak?: number;
  /** Of the order of batches. @default 3 */
  readonly seed?: number;
  /** What a program adds to what decides the outcome. */
  readonly settings?: Settings;
  /** Sees what the run ends with. */
  readonly onEnd?: (policy: Policy) => Promise<void>;
}

/** Trains into a folder, or nowhere, and says each finished step. */
export async function runSft(
  folder: string | undefined,
  onStep: (metrics: SftMetrics) => void,
  { form = "weights", steps = sftRunSteps, peak = 3e-3, seed = 3, ...given }: SftRun = {},
): Promise<void> {
  const { processGroup, sharesModel = false, learner, settings, onEnd } = given;
  await native().setNumThreads(1);
  const { loaded } = given;
  const { isAdapter = false, weights, dtype = given.dtype, ...options }: SftForm = sftForms[form];
  const inMemory = {
    dtype: dtype ?? "float32",
    weights,
    tensorParallel: sharesModel ? processGroup : undefined,
  };
  await using model =
    loaded === undefined
      ? await Model.create(tinyShape, { seed: 1, std: 0.2, ...inMemory })
      : await Model.load(loaded, { ...inMemory, isDeferred: true });
  if (sharesModel && processGroup!.rank > 0) return await model.follow();
  const policy = isAdapter ? await Adapter.create(model, { rank: 2 }) : model;
  await using trainer = await Trainer.open(policy, {
    ...{ ...options, ...learner },
    processGroup: sharesModel ? undefined : processGroup,
  });
  const sequences = Array.from({ length: 30 }, (_, i) => {
    const sequence = tinySequence(i, 10 + (i % 7));
    return { ...sequence, weights: filled(sequence.rows.length, () => 1) };
  });
  await sft({
    trainer,
    ...epochs(sequences, { batchSize: 8, epochs: (sftRunSteps * 8) / 30, seed }),
    steps,
    learningRate: schedule({ peak, warmupSteps: 5, decay: "cosine", steps: sftRunSteps }),
    seed,
    maxTokens: 40,
    run: folder === undefined ? undefined : { folder, checkpointEvery: 6, settings },
    onStep,
  });
  await trainer.gatherWeights();
  await onEnd?.(policy);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [folder, form] = [process.argv[2]!, process.argv[3] as SftFormName];
  await runSft(folder, ({ step }) => process.stdout.write(`${step}\n`), { form });
}
