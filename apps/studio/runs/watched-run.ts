/** A run that the studio looks at: its folder, and what was found out about it so far. */
import { codeOf, messageOf } from "../../../lib/base/errors.ts";
import { seriesOf } from "../../runs/metrics/metric-series.ts";
import { RunFolder, type RunStatus } from "../../runs/run-folder.ts";
import type { RunSummary, RunWarning } from "../api.ts";
import { RunWarnings } from "./warnings.ts";

/** Points of the small curve in the list of runs. */
const sparkPoints = 60;

/** The number that a list shows as a curve: what is rewarded, or what SFT lowers. */
const sparkMetrics = ["reward/total", "reward/mean", "loss"];

/** One run, its reader kept open. */
export class WatchedRun {
  readonly folder: RunFolder;
  readonly #warnings: RunWarnings;

  /** @param path - of its folder */
  constructor(path: string) {
    this.folder = new RunFolder(path);
    this.#warnings = new RunWarnings(this.folder.metrics);
  }

  /** What somebody should read about it, the metrics that were read so far considered. */
  async warnings(): Promise<readonly RunWarning[]> {
    const config = await this.folder.config();
    return this.#warnings.all(config);
  }

  /** One line of the list of runs; of one that cannot be read the reason. */
  async summary(known: Pick<RunSummary, "id" | "name">): Promise<RunSummary> {
    return this.#summary(known).catch((error: unknown) => {
      if (codeOf(error) === undefined) throw error;
      return unreadable({ ...known, folder: this.folder.folder, warning: messageOf(error) });
    });
  }

  async #summary({ id, name }: Pick<RunSummary, "id" | "name">): Promise<RunSummary> {
    const status = await this.folder.status();
    const held = (await this.warnings()).filter(({ toStep }) => toStep === status.step);
    const { numRows, progress } = this.folder.trajectories;
    return {
      ...{ id, name, folder: status.folder, kind: status.kind, state: status.state, step: status.step },
      steps: status.steps ?? null,
      etaSeconds: status.etaSeconds ?? null,
      seconds: status.seconds,
      tokensPerSecond: status.tokensPerSecond ?? null,
      changedAt: status.changedAt,
      process: processOf(status),
      last: Object.fromEntries(Object.entries(status.last).filter((entry) => entry[1] !== null)) as Record<
        string,
        number
      >,
      evaluated: status.evaluated ?? null,
      spark: this.#spark(),
      numTrajectories: progress.totalBytes > 0 ? numRows : null,
      warning: held[0]?.message ?? null,
    };
  }

  #spark(): number[] {
    const { metrics } = this.folder;
    const name = sparkMetrics.find((each) => metrics.names.includes(each));
    if (name === undefined) return [];
    return seriesOf(metrics, name, { points: sparkPoints }).values.filter((value) => value !== null);
  }
}

function unreadable(known: Pick<RunSummary, "id" | "name" | "folder" | "warning">): RunSummary {
  return {
    ...{ kind: "sft", state: "ended", step: 0, steps: null, etaSeconds: null, seconds: 0 },
    ...{ tokensPerSecond: null, changedAt: 0, process: null, last: {}, evaluated: null },
    ...{ spark: [], numTrajectories: null },
    ...known,
  };
}

function processOf({ holder }: RunStatus): RunSummary["process"] {
  if (holder === undefined) return null;
  const { pid, host, since, memoryBytes, isOwn } = holder;
  return { pid, host, since, memoryBytes: memoryBytes ?? null, isOwn };
}
