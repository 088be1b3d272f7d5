/** The folder of one training run: its logs, its checkpoints, and where a killed run goes on. */

import { join } from "node:path";
import { removeTemporaries } from "../../base/files/files.ts";
import { type FolderLock, lockFolder } from "../../base/files/folder-lock.ts";
import { Adapter } from "../../model/adapter.ts";
import { checkAlike } from "./alike.ts";
import {
  type Checkpoint,
  latestCheckpoint,
  readCheckpoint,
  removeLeftovers,
  writeCheckpoint,
} from "./checkpoint.ts";
import { explainNonFinite } from "./non-finite.ts";
import { RunLogs } from "./run-logs.ts";
import type { RunOptions } from "./run-options.ts";
import { writeRecord } from "./run-record.ts";
import { type LoopState, type RunSubject, restore, type SavedState, writeWeights } from "./run-state.ts";
import type { Settings } from "./settings.ts";
import { writeSharedCheckpoint } from "./shared-checkpoint.ts";

const modelFolder = "model";

function settingsOf(
  { kind, seed, trainer, critic, settings }: RunSubject,
  { settings: given }: RunOptions,
): Settings {
  const { policy } = trainer;
  const lora = policy instanceof Adapter ? policy.shape : undefined;
  return { ...given, ...settings, kind, seed, lora, critic: critic !== undefined };
}

/** What killed processes left: who holds the folder's lock knows that nobody is writing it. */
async function clean(folder: string): Promise<void> {
  await removeTemporaries(folder);
  await removeTemporaries(join(folder, modelFolder));
  await removeLeftovers(join(folder, "checkpoints"));
}

/** What rank 0 alone has of an open run. */
interface RunFiles {
  readonly logs: RunLogs;
  readonly lock: FolderLock;
}

/** An open run. Of several ranks the first has the folder, and the others learn from it where the run goes on. */
export class Run {
  /** Steps finished before this process began. */
  readonly resumedStep: number;
  /** Whether the run had ended before its last step, having reached what it was for. */
  readonly hasEnded: boolean;
  /** The weight of the KL that an adaptive controller had come to. */
  readonly resumedKlCoef: number | undefined;
  readonly #options: RunOptions;
  readonly #subject: RunSubject;
  readonly #saved: SavedState | undefined;
  /** Undefined on other ranks than the first. */
  readonly #files: RunFiles | undefined;
  #best: SavedState["best"];
  /** The last whole step, while the weights are still those it left. */
  #whole: ({ readonly step: number; readonly policySteps: number } & LoopState) | undefined;

  private constructor(
    options: RunOptions,
    subject: RunSubject,
    saved: SavedState | undefined,
    files: RunFiles | undefined,
  ) {
    this.#options = options;
    this.#subject = subject;
    this.#saved = saved;
    this.resumedStep = saved?.step ?? 0;
    this.hasEnded = saved?.hasEnded ?? false;
    this.resumedKlCoef = saved?.klCoef;
    this.#best = saved?.best?.metric === options.best?.metric ? saved?.best : undefined;
    this.#files = files;
  }

  /**
   * Opens a run's folder for this process, or these ranks, alone; when it holds a checkpoint, weights, optimiser and logs are set back to
   * it.
   *
   * @param options - where
   * @param subject - what is trained
   * @returns the run, to be closed
   * @throws ERR_STATE when another process has the folder, or when it holds a run that was begun with other settings or
   *   has done more steps; ERR_FORMAT for damaged files; ERR_IO
   */
  static async open(options: RunOptions, subject: RunSubject): Promise<Run> {
    const { processGroup } = subject.trainer;
    if (processGroup === undefined) return Run.#openFolder(options, subject);
    const opening = processGroup.rank === 0 ? Run.#openFolder(options, subject) : undefined;
    const saved = await processGroup.broadcast(
      "opening the run",
      opening?.then((run) => run.#saved),
    );
    const run = (await opening) ?? new Run(options, subject, saved, undefined);
    try {
      await processGroup.allGather("restoring the run", run.#follow());
    } catch (error) {
      await run.close();
      throw error;
    }
    return run;
  }

  /** Sets a rank that has not the folder back to where the first one is. */
  async #follow(): Promise<void> {
    if (this.#files !== undefined || this.#saved === undefined) return;
    await this.#restore(readCheckpoint(join(this.#options.folder, "checkpoints"), this.#saved.step));
  }

  static async #openFolder(options: RunOptions, subject: RunSubject): Promise<Run> {
    const { folder, tensorBoard, config, layoutLine } = options;
    const lock = await lockFolder(folder);
    try {
      await clean(folder);
      const checkpoint = await latestCheckpoint(join(folder, "checkpoints"));
      const saved = checkpoint && (await restore(checkpoint, subject, settingsOf(subject, options)));
      if (config !== undefined) await writeRecord(folder, config, layoutLine);
      const logs = await RunLogs.open(folder, saved?.logs, { tensorBoard });
      return new Run(options, subject, saved, { logs, lock });
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** Adds a step's numbers to the logs, and the memory that the process holds after it. @throws ERR_IO */
  async logMetrics(metrics: Readonly<Record<string, number>>): Promise<void> {
    await this.#files?.logs.addMetrics({ ...metrics, "process/memory_gb": process.memoryUsage.rss() / 1e9 });
  }

  /** The numbers of all steps so far, in order, on all ranks. @throws ERR_IO */
  async loggedMetrics(): Promise<Record<string, number>[]> {
    const own = this.#files?.logs.metrics() ?? [];
    const { processGroup } = this.#subject.trainer;
    return (await processGroup?.broadcast("metrics so far", own)) ?? own;
  }

  /** Adds lines to `trajectories.jsonl`. @throws ERR_IO */
  async logTrajectories(rows: readonly object[]): Promise<void> {
    await this.#files?.logs.addTrajectories(rows);
  }

  /** Writes a checkpoint after a step when one is due. @throws ERR_IO; ERR_RANGE when a weight is not finite */
  async finishStep(
    metrics: { readonly step: number } & object,
    { isLast, ...loop }: LoopState & { readonly isLast: boolean },
  ): Promise<void> {
    const { step } = metrics;
    const { checkpointEvery = 50 } = this.#options;
    const isRegular = checkpointEvery > 0 && step % checkpointEvery === 0;
    const isDue = this.#isBest(metrics) || isLast || loop.hasEnded || isRegular;
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

  /**
   * Sets weights and optimiser back to the best checkpoint, and ends the run after `step` with them.
   *
   * @returns the step they are of; undefined when no checkpoint was the best yet: then nothing is changed
   * @throws ERR_FORMAT when the checkpoint is damaged; ERR_IO
   */
  async rollBack(step: number): Promise<number | undefined> {
    if (this.#best === undefined) return undefined;
    await this.#restore(readCheckpoint(join(this.#options.folder, "checkpoints"), this.#best.step));
    await this.#subject.trainer.gatherWeights();
    await this.#checkpoint(step, { hasEnded: true });
    return this.#best.step;
  }

  /** Writes the model that the run ends with. @returns its folder @throws ERR_IO; ERR_RANGE when a weight is not finite */
  async saveModel(): Promise<string> {
    const folder = join(this.#options.folder, modelFolder);
    const saving = this.#subject.trainer.saveWeights(folder);
    const finish = async (): Promise<void> => {
      await saving;
      await this.#options.onCheckpoint?.(folder);
    };
    await Promise.all([saving, this.#onFirstRank("saving the model", finish)]);
    return folder;
  }

  async #restore(checkpoint: Promise<Checkpoint>): Promise<SavedState> {
    return restore(await checkpoint, this.#subject, settingsOf(this.#subject, this.#options));
  }

  /** What the rank that has the folder does while the others wait, and fail with it. */
  async #onFirstRank(what: string, work: () => Promise<void>): Promise<void> {
    const working = this.#files && work();
    const { processGroup } = this.#subject.trainer;
    await (processGroup === undefined ? working : processGroup.broadcast(what, working));
  }

  #isBest(metrics: { readonly step: number } & object): boolean {
    const { metric = "", mode = "max" } = this.#options.best ?? {};
    const value = (metrics as Readonly<Record<string, number | undefined>>)[metric];
    if (value === undefined || !Number.isFinite(value)) return false;
    const before = this.#best?.value;
    if (before !== undefined && (mode === "max" ? value <= before : value >= before)) return false;
    this.#best = { metric, step: metrics.step, value };
    return true;
  }

  async #checkpoint(step: number, loop: LoopState): Promise<void> {
    const { keep, folder, onCheckpoint } = this.#options;
    const { trainer } = this.#subject;
    const root = join(folder, "checkpoints");
    const kept = { keep, best: this.#best?.step };
    const state = () => this.#state(loop);
    const write = async (to: string): Promise<void> => {
      await writeWeights(to, this.#subject);
      if (this.#files !== undefined) await onCheckpoint?.(to);
    };
    const alone = async () => void (await writeCheckpoint(root, { step, state: await state(), write }, kept));
    const writing = trainer.sharesState
      ? writeSharedCheckpoint({ root, step, state, write, ...kept }, trainer.processGroup!)
      : this.#onFirstRank("writing a checkpoint", alone);
    await explainNonFinite(step, writing, "the weights are not finite any more, and were not saved");
  }

  async #state({ hasEnded, klCoef }: LoopState): Promise<Settings> {
    const { trainer, critic } = this.#subject;
    return {
      settings: settingsOf(this.#subject, this.#options),
      policySteps: trainer.numSteps,
      criticSteps: critic?.numSteps,
      logs: await this.#files?.logs.sync(),
      best: this.#best,
      hasEnded: hasEnded || undefined,
      klCoef,
    };
  }

  /** Closes the logs and gives the folder up; nothing is written any more. */
  async close(): Promise<void> {
    await this.#files?.logs.close();
    this.#files?.lock.close();
  }
}

/**
 * Runs a training loop in its folder: the model is saved at its end; what ends it early leaves a checkpoint of the last
 * whole step.
 *
 * @param options - of the folder; without them nothing is written
 * @param subject - what is trained
 * @param loop - gets the open run
 * @returns what the loop returns
 * @throws as {@link Run.open}; ERR_ARGUMENT on all ranks where they were given different things; what the loop throws
 */
export async function withRun<Result>(
  options: RunOptions | undefined,
  subject: RunSubject,
  loop: (run: Run | undefined) => Promise<Result>,
): Promise<Result> {
  await checkAlike(subject, options?.settings);
  const run = options && (await Run.open(options, subject));
  try {
    const result = await loop(run);
    await run?.saveModel();
    return result;
  } catch (error) {
    await (subject.endWith?.(error) ?? subject.trainer.processGroup?.endWith(error));
    // What ended the run is reported, also where no checkpoint can be written.
    await run?.keepFinished().catch(() => undefined);
    throw error;
  } finally {
    await run?.close();
  }
}
