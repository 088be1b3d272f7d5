/** A run's folder as somebody else sees it: what it is doing, how far it is, what it was begun with. */
import { readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { findText, hasLinkOut } from "../../lib/base/files/regular-file.ts";
import { checkpointName } from "../../lib/train/run/checkpoint.ts";
import type { Settings } from "../../lib/train/run/settings.ts";
import { MetricsLog, type MetricsRow } from "./metrics/metrics-log.ts";
import { paceOf } from "./metrics/pace.ts";
import { readConfig, readRecord } from "./run-config.ts";
import { holderOf, type RunHolder } from "./run-lock.ts";
import { TrajectoryLog } from "./trajectories/trajectory-log.ts";

/**
 * `live`: a process holds its lock, or that of a served adapter's history. `finished`: its last step is done. `ended`: it has
 * reached what it was for earlier, or does not say how many steps it has. `stopped`: steps are left, and nobody works on it.
 */
export type RunState = "live" | "finished" | "ended" | "stopped";

/** A run at a moment. */
export interface RunStatus {
  readonly folder: string;
  /** `rl` has trajectories. */
  readonly kind: "rl" | "sft";
  readonly state: RunState;
  /** Finished steps. */
  readonly step: number;
  /** Steps in all; undefined when the run does not say. */
  readonly steps: number | undefined;
  /** At the pace of the last steps; undefined unless live and known. */
  readonly etaSeconds: number | undefined;
  /** Of all steps that were logged. */
  readonly seconds: number;
  readonly tokensPerSecond: number | undefined;
  /** When its metrics were last written, milliseconds since 1970. */
  readonly changedAt: number;
  readonly holder: RunHolder | undefined;
  /** The last step's metrics. */
  readonly last: MetricsRow;
  /** Exact match of the last evaluation, and after which step that was; undefined before the first. */
  readonly evaluated: { readonly step: number; readonly em: number } | undefined;
}

/** A finished checkpoint. */
interface RunCheckpoint {
  readonly step: number;
  readonly isBest: boolean;
}

/** Reads one run, for as long as it is of interest; it takes no lock and writes nothing. */
export class RunFolder {
  readonly folder: string;
  readonly metrics: MetricsLog;
  readonly trajectories: TrajectoryLog;

  /**
   * @param folder - of a run
   * @example
   * const run = new RunFolder("runs/train");
   * const { state, step, steps } = await run.status();
   * console.log(`${state}, step ${step} of ${steps}`);
   */
  constructor(folder: string) {
    this.folder = folder;
    this.metrics = new MetricsLog(folder);
    this.trajectories = new TrajectoryLog(folder);
  }

  /** The options that it was begun with; undefined where it does not say. */
  config(): Promise<Settings | undefined> {
    return readConfig(this.folder);
  }

  /** What it is doing now; its metrics are read as far as they are written. @throws ERR_IO */
  async status(): Promise<RunStatus> {
    const holder = await holderOf(join(this.folder, "lock"));
    // A server that learns is no training that could be stopped, so it is not the holder.
    const isLive = (holder ?? (await holderOf(join(this.folder, "history.jsonl.lock")))) !== undefined;
    await this.metrics.refresh();
    const { metrics } = this;
    const step = metrics.value("step", metrics.numRows - 1) ?? metrics.numRows;
    const steps = stepsOf(await this.config());
    const { seconds, secondsPerStep, tokensPerSecond } = paceOf(metrics);
    const isTimed = holder !== undefined && steps !== undefined && secondsPerStep !== undefined;
    return {
      folder: this.folder,
      kind: metrics.names.includes("reward/mean") || (await this.#hasTrajectories()) ? "rl" : "sft",
      state: isLive ? "live" : await this.#restingState(step, steps),
      ...{ step, steps, seconds, tokensPerSecond, holder },
      etaSeconds: isTimed ? Math.max(0, steps - step) * secondsPerStep : undefined,
      changedAt: (await timeOf(join(this.folder, "metrics.jsonl"))) ?? 0,
      last: metrics.row(metrics.numRows - 1),
      evaluated: lastEvaluation(metrics),
    };
  }

  /** Finished checkpoints, the newest first. */
  async checkpoints(): Promise<RunCheckpoint[]> {
    const root = join(this.folder, "checkpoints");
    const names = await readdir(root).catch(() => [] as string[]);
    const best = await readlink(join(root, "best")).catch(() => undefined);
    const found = names.flatMap((name) => {
      const [, step] = /^step-(\d+)$/.exec(name) ?? [];
      return step === undefined ? [] : [{ step: Number(step), isBest: name === best }];
    });
    return found.sort((a, b) => b.step - a.step);
  }

  /** Where the tokenizer of its model may stand: beside the final model, the newest checkpoint, what it was begun with. */
  async modelFolders(): Promise<string[]> {
    const [newest] = await this.checkpoints();
    const own = [
      join(this.folder, "model"),
      ...(newest === undefined ? [] : [this.#checkpointFolder(newest)]),
    ];
    const leadOut = await Promise.all(own.map((folder) => hasLinkOut(folder, this.folder)));
    const { config, isOwn } = (await readRecord(this.folder)) ?? {};
    // What others wrote names no folder that is looked into.
    const begun = isOwn === true && typeof config?.model === "string" ? [config.model] : [];
    return [...own.filter((_, i) => !leadOut[i]), ...begun];
  }

  #checkpointFolder({ step }: RunCheckpoint): string {
    return join(this.folder, "checkpoints", checkpointName(step));
  }

  async #hasTrajectories(): Promise<boolean> {
    const kind = await stat(join(this.folder, "trajectories.jsonl")).catch(() => undefined);
    return (kind?.size ?? 0) > 0;
  }

  async #restingState(step: number, steps: number | undefined): Promise<RunState> {
    if (steps !== undefined && step >= steps) return "finished";
    if (await this.#hasEnded()) return "ended";
    const marks = ["model", "history.jsonl"].map((name) => timeOf(join(this.folder, name)));
    const isWhole = (await Promise.all(marks)).some((time) => time !== undefined);
    return steps === undefined && isWhole ? "ended" : "stopped";
  }

  /** What the newest checkpoint says of it. */
  async #hasEnded(): Promise<boolean> {
    const [newest] = await this.checkpoints();
    if (newest === undefined) return false;
    const path = join(this.#checkpointFolder(newest), "state.json");
    const text = (await findText(path, { within: this.folder })) ?? "{}";
    return /"hasEnded": true/.test(text);
  }
}

function lastEvaluation(metrics: MetricsLog): RunStatus["evaluated"] {
  for (let row = metrics.numRows - 1; row >= 0 && metrics.names.includes("eval/em"); row -= 1) {
    const em = metrics.value("eval/em", row);
    if (typeof em === "number") return { step: metrics.value("step", row) ?? row + 1, em };
  }
  return undefined;
}

function stepsOf(config: Settings | undefined): number | undefined {
  const steps = config?.steps;
  return typeof steps === "number" ? steps : undefined;
}

async function timeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.mtimeMs;
}
