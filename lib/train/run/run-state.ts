/** What a checkpoint holds: the weights and optimisers of a run, and the state of its loop. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { z } from "zod";
import { SeekError } from "../../base/errors.ts";
import { lazySchema } from "../../base/on-first-use.ts";
import type { Schedule } from "../algorithm/schedule.ts";
import type { Critic } from "../learner/critic.ts";
import type { Trainer } from "../learner/trainer.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { logLengths } from "./run-logs.ts";
import { checkSettings, type Settings } from "./settings.ts";

/** What a run trains, and what distinguishes it from another. */
export interface RunSubject {
  readonly kind: "sft" | "rl";
  readonly seed: number;
  /** Steps in all that are asked for; a run that has done more is refused. */
  readonly steps: number;
  /** What else the loop knows to decide the outcome. */
  readonly settings?: Settings | undefined;
  /** Of each learner by its name; ranks must have the same. */
  readonly learningRates: Readonly<Record<string, Schedule>>;
  readonly trainer: Trainer;
  readonly critic?: Critic | undefined;
  /** Ends this rank's work with an error, and that of the others wherever they wait for it. @default the trainer's ranks end */
  readonly endWith?: ((error: unknown) => Promise<void>) | undefined;
}

/** What a loop has come to besides its weights. */
export interface LoopState {
  readonly hasEnded?: boolean | undefined;
  /** The next step's weight of the KL, where a controller moves it. */
  readonly klCoef?: number | undefined;
}

const savedBest = lazySchema((z) => z.object({ metric: z.string(), step: z.int(), value: z.number() }));

const savedState = lazySchema((z) =>
  z.object({
    step: z.int(),
    settings: z.record(z.string(), z.unknown()),
    policySteps: z.int(),
    criticSteps: z.int().optional(),
    logs: logLengths(),
    best: savedBest().optional(),
    hasEnded: z.boolean().optional(),
    klCoef: z.number().optional(),
  }),
);

/** What stands in a checkpoint's `state.json`. */
export type SavedState = z.infer<ReturnType<typeof savedState>>;

const policyState = "trainer.safetensors";
const criticFolder = "critic";

/** Sets weights and optimisers back to a checkpoint. @throws ERR_STATE when it is another run's; ERR_FORMAT; ERR_IO */
export async function restore(
  checkpoint: Checkpoint,
  subject: RunSubject,
  settings: Settings,
): Promise<SavedState> {
  const { state, folder } = checkpoint;
  const parsed = savedState().safeParse(state);
  if (!parsed.success) throw new SeekError("ERR_FORMAT", `${folder}: its state is not a training run's`);
  const saved = parsed.data;
  checkSettings(folder, saved.settings, settings);
  if (saved.step > subject.steps) {
    const what = `steps: expected at least the ${saved.step} that the run has done, got ${subject.steps}`;
    throw new SeekError("ERR_STATE", `${folder}: ${what}. Give more, or choose another folder`);
  }
  const { trainer, critic } = subject;
  await trainer.readWeights(folder);
  await trainer.loadState(join(folder, policyState), saved.policySteps);
  if (critic !== undefined) {
    const trunk = join(folder, criticFolder);
    await critic.readWeights(trunk);
    await critic.loadState(join(trunk, policyState), saved.criticSteps ?? 0);
  }
  return saved;
}

/**
 * Writes what this rank has to write of weights and optimisers: the first one all weights.
 *
 * @throws ERR_IO; ERR_RANGE when a weight is not finite
 */
export async function writeWeights(folder: string, { trainer, critic }: RunSubject): Promise<void> {
  const trunk = join(folder, criticFolder);
  // First what ranks do together: one whose disk is full holds no other up.
  await trainer.saveWeights(folder);
  await critic?.saveWeights(trunk);
  await trainer.saveState(join(folder, policyState));
  if (critic === undefined) return;
  await mkdir(trunk, { recursive: true });
  await critic.saveState(join(trunk, policyState));
}
