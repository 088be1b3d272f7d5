/** The logs of a training run, which are cut back together to its last checkpoint. */
import { join } from "node:path";
import { EventLog } from "../../data/logs/event-log.ts";
import { LineLog } from "../../data/logs/line-log.ts";

/** Lengths of the logs at a checkpoint. */
export interface LogBytes {
  readonly metricsBytes: number;
  readonly trajectoriesBytes: number;
  readonly eventsBytes?: number | undefined;
}

/** Metrics, trajectories, and where they are asked for TensorBoard's events. */
export class RunLogs {
  readonly #metrics: LineLog;
  readonly #trajectories: LineLog;
  readonly #events: EventLog | undefined;

  private constructor(metrics: LineLog, trajectories: LineLog, events: EventLog | undefined) {
    this.#metrics = metrics;
    this.#trajectories = trajectories;
    this.#events = events;
  }

  /**
   * Opens the logs of a run's folder, set back to a checkpoint.
   *
   * @param folder - of the run
   * @param saved - lengths at the checkpoint, `@default` the run begins
   * @param options - `tensorBoard` keeps an event file too
   * @throws ERR_IO; ERR_FORMAT when a log is shorter than it was
   */
  static async open(
    folder: string,
    saved: LogBytes = { metricsBytes: 0, trajectoriesBytes: 0 },
    { tensorBoard = false }: { readonly tensorBoard?: boolean | undefined } = {},
  ): Promise<RunLogs> {
    const metrics = await LineLog.open(join(folder, "metrics.jsonl"), saved.metricsBytes);
    const trajectories = await LineLog.open(join(folder, "trajectories.jsonl"), saved.trajectoriesBytes);
    // One name for the whole run: a resumed one goes on in the same file.
    const path = join(folder, "tensorboard", "events.out.tfevents.0.seekrl");
    const events = tensorBoard ? await EventLog.open(path, saved.eventsBytes ?? 0) : undefined;
    return new RunLogs(metrics, trajectories, events);
  }

  /** Adds a step's numbers. @throws ERR_IO */
  async addMetrics(metrics: Readonly<Record<string, number>>): Promise<void> {
    await this.#metrics.append(metrics);
    await this.#events?.append(metrics);
  }

  /** Adds a step's trajectories. @throws ERR_IO */
  async addTrajectories(rows: readonly object[]): Promise<void> {
    if (rows.length > 0) await this.#trajectories.append(...rows);
  }

  /** Waits until all is on the disk. @returns how long the logs are */
  async sync(): Promise<LogBytes> {
    await Promise.all([this.#metrics.sync(), this.#trajectories.sync(), this.#events?.sync()]);
    return {
      metricsBytes: this.#metrics.bytes,
      trajectoriesBytes: this.#trajectories.bytes,
      ...(this.#events === undefined ? {} : { eventsBytes: this.#events.bytes }),
    };
  }

  /** Closes them; nothing is written any more. */
  async close(): Promise<void> {
    await Promise.all([this.#metrics.close(), this.#trajectories.close(), this.#events?.close()]);
  }
}
