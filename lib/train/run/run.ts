/** The folder of one training run: its logs, its checkpoints, and where a killed run goes on. */
import { join } from "node:path";
import { z } from "zod";
import { native } from "../../base/addon/native.ts";
import { SeekError } from "../../base/errors.ts";
import type { Model } from "../../model/model.ts";
import { findWeights } from "../../model/model-folder.ts";
import type { Critic } from "../learner/critic.ts";
import type { Trainer } from "../learner/trainer.ts";
import { type Checkpoint, latestCheckpoint, removeLeftovers, writeCheckpoint } from "./checkpoint.ts";
import { RunLogs } from "./run-logs.ts";

/** Where a run is kept, and how often. */
export interface RunOptions {
  /** `metrics.jsonl`, `trajectories.jsonl` and `checkpoints/` stand in it. A run that is already there goes on. */
  readonly folder: string;
  /** Also keeps the metrics as an event file in `tensorboard/`. @default false */
  readonly tensorBoard?: boolean;
  /** Steps between checkpoints; the last step always gets one. @default 50 */
  readonly checkpointEvery?: number;
  /** Newest checkpoints kept. @default 2 */
  readonly keep?: number;
  /** Adds files, such as the tokenizer's, so that a checkpoint can be loaded as a model folder. */
  readonly onCheckpoint?: (folder: string) => Promise<void>;
}

/** What a run trains, and what tells it from another. */
export interface RunSubject {
  readonly kind: "sft" | "rl";
  readonly seed: number;
  readonly trainer: Trainer;
  readonly critic?: Critic | undefined;
}

const savedState = z.object({
  step: z.number().int(),
  kind: z.string(),
  seed: z.number(),
  policySteps: z.number().int(),
  criticSteps: z.number().int().optional(),
  metricsBytes: z.number().int(),
  trajectoriesBytes: z.number().int(),
  eventsBytes: z.number().int().optional(),
  hasEnded: z.boolean().optional(),
  klCoef: z.number().optional(),
});

/** What a loop has come to besides its weights. */
export interface LoopState {
  readonly hasEnded?: boolean | undefined;
  /** The next step's weight of the KL, where a controller moves it. */
  readonly klCoef?: number | undefined;
}

const policyState = "trainer.safetensors";
const criticFolder = "critic";

async function readInto(model: Model, folder: string): Promise<void> {
  await native().readWeights(model.handle, await findWeights(folder));
}

function describeRun(kind: string, seed: number, hasCritic: boolean): string {
  return `${kind} with seed ${seed}${hasCritic ? " and a critic" : ""}`;
}

function parseState({ state, folder }: Checkpoint, { kind, seed, critic }: RunSubject) {
  const parsed = savedState.safeParse(state);
  if (!parsed.success) throw new SeekError("ERR_FORMAT", `${folder}: its state is not a training run's`);
  const saved = parsed.data;
  const expected = describeRun(kind, seed, critic !== undefined);
  const found = describeRun(saved.kind, saved.seed, saved.criticSteps !== undefined);
  if (found === expected) return saved;
  throw new SeekError("ERR_STATE", `${folder}: expected ${expected}, got ${found}; choose another folder`);
}

async function restore(checkpoint: Checkpoint, subject: RunSubject) {
  const saved = parseState(checkpoint, subject);
  const { trainer, critic } = subject;
  await readInto(trainer.model, checkpoint.folder);
  await trainer.loadState(join(checkpoint.folder, policyState), saved.policySteps);
  if (critic !== undefined) {
    const folder = join(checkpoint.folder, criticFolder);
    await readInto(critic.trunk, folder);
    await critic.loadState(join(folder, policyState), saved.criticSteps ?? 0);
  }
  return saved;
}

/** An open run. */
export class Run {
  /** Steps finished before this process began. */
  readonly resumedStep: number;
  /** Whether the run had ended before its last step, having reached what it was for. */
  readonly hasEnded: boolean;
  /** The weight of the KL that an adaptive controller had come to. */
  readonly resumedKlCoef: number | undefined;
  readonly #options: RunOptions;
  readonly #subject: RunSubject;
  readonly #logs: RunLogs;
  /** The last whole step, while the weights are still those it left. */
  #whole: ({ readonly step: number; readonly policySteps: number } & LoopState) | undefined;

  private constructor(
    options: RunOptions,
    subject: RunSubject,
    resumed: { readonly step: number } & LoopState,
    logs: RunLogs,
  ) {
    this.#options = options;
    this.#subject = subject;
    this.resumedStep = resumed.step;
    this.hasEnded = resumed.hasEnded ?? false;
    this.resumedKlCoef = resumed.klCoef;
    this.#logs = logs;
  }

  /**
   * Opens a run's folder; when it holds a checkpoint, weights, optimiser and logs are set back to it.
   *
   * @param options - where
   * @param subject - what is trained
   * @returns the run, to be closed
   * @throws ERR_STATE when the folder holds a run of another kind or seed; ERR_FORMAT for broken files
   */
  static async open(options: RunOptions, subject: RunSubject): Promise<Run> {
    const root = join(options.folder, "checkpoints");
    await removeLeftovers(root);
    const checkpoint = await latestCheckpoint(root);
    const saved = checkpoint && (await restore(checkpoint, subject));
    const { folder, tensorBoard } = options;
    const logs = await RunLogs.open(folder, saved, { tensorBoard });
    return new Run(options, subject, saved ?? { step: 0 }, logs);
  }

  /** Adds a step's numbers to the logs. @throws ERR_IO */
  async logMetrics(metrics: Readonly<Record<string, number>>): Promise<void> {
    await this.#logs.addMetrics(metrics);
  }

  /** Adds lines to `trajectories.jsonl`. @throws ERR_IO */
  async logTrajectories(rows: readonly object[]): Promise<void> {
    await this.#logs.addTrajectories(rows);
  }

  /** Writes a checkpoint after `step` steps when one is due. @throws ERR_IO */
  async finishStep(
    step: number,
    { isLast, ...loop }: LoopState & { readonly isLast: boolean },
  ): Promise<void> {
    const { checkpointEvery = 50 } = this.#options;
    const isDue = isLast || loop.hasEnded || (checkpointEvery > 0 && step % checkpointEvery === 0);
    if (isDue) await this.#checkpoint(step, loop);
    this.#whole = isDue ? undefined : { step, policySteps: this.#subject.trainer.numSteps, ...loop };
  }

  /**
   * Writes a checkpoint of the last whole step when the next one ended before it changed a weight: what Ctrl-C or a
   * failing rollout interrupts costs no step that was finished.
   *
   * @throws ERR_IO
   */
  async keepFinished(): Promise<void> {
    if (this.#whole?.policySteps !== this.#subject.trainer.numSteps) return;
    const { step, hasEnded, klCoef } = this.#whole;
    await this.#checkpoint(step, { hasEnded, klCoef });
  }

  async #checkpoint(step: number, loop: LoopState): Promise<void> {
    const bytes = await this.#logs.sync();
    const { kind, seed, trainer, critic } = this.#subject;
    const state = {
      kind,
      seed,
      policySteps: trainer.numSteps,
      ...(critic === undefined ? {} : { criticSteps: critic.numSteps }),
      ...bytes,
      ...(loop.hasEnded ? { hasEnded: true } : {}),
      klCoef: loop.klCoef,
    };
    const { keep = 2, folder } = this.#options;
    const write = (to: string): Promise<void> => this.#write(to);
    await writeCheckpoint(join(folder, "checkpoints"), { step, state, write }, { keep });
  }

  async #write(folder: string): Promise<void> {
    const { trainer, critic } = this.#subject;
    await trainer.model.save(folder);
    await trainer.saveState(join(folder, policyState));
    if (critic !== undefined) {
      await critic.trunk.save(join(folder, criticFolder));
      await critic.saveState(join(folder, criticFolder, policyState));
    }
    await this.#options.onCheckpoint?.(folder);
  }

  /** Closes the logs; nothing is written any more. */
  async close(): Promise<void> {
    await this.#logs.close();
  }
}
