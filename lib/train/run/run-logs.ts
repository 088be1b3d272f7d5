/** The logs of a training run, which are cut back together to its last checkpoint. */
import { join } from "node:path";
import type { z } from "zod";
import { SeekError } from "../../base/errors.ts";
import { digestOf, digestOfFile } from "../../base/files/digests.ts";
import { Journal } from "../../base/files/journal.ts";
import { readText } from "../../base/files/regular-file.ts";
import { lazySchema } from "../../base/on-first-use.ts";
import { EventLog } from "../../data/logs/event-log.ts";

/** Lengths of the logs at a checkpoint, in bytes. */
export const logLengths = lazySchema((z) =>
  z.object({
    /** SHA-256 of the metrics so far: what a resumed run reads of them must be what was written. */
    metricsDigest: z.string(),
    metrics: z.int().nonnegative(),
    trajectories: z.int().nonnegative(),
    events: z.int().nonnegative().optional(),
  }),
);

/** What `logLengths` reads. */
type LogLengths = z.infer<ReturnType<typeof logLengths>>;

const metricsFile = "metrics.jsonl";

/** Metrics, trajectories, and where they are asked for TensorBoard's events. */
export class RunLogs {
  readonly #folder: string;
  readonly #metrics: Journal;
  readonly #trajectories: Journal;
  readonly #events: EventLog | undefined;

  private constructor(folder: string, metrics: Journal, trajectories: Journal, events: EventLog | undefined) {
    this.#folder = folder;
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
   * @throws ERR_IO; ERR_FORMAT when a log is shorter than it was, or the metrics are not what was written
   */
  static async open(
    folder: string,
    saved: LogLengths = { metrics: 0, metricsDigest: digestOf(""), trajectories: 0 },
    { tensorBoard = false }: { readonly tensorBoard?: boolean | undefined } = {},
  ): Promise<RunLogs> {
    const opened: { close(): Promise<void> }[] = [];
    const keep = <Log extends { close(): Promise<void> }>(log: Log): Log => {
      opened.push(log);
      return log;
    };
    try {
      const metrics = keep(await Journal.open(join(folder, metricsFile), saved.metrics));
      await checkMetrics(folder, saved.metricsDigest);
      const trajectories = keep(await Journal.open(join(folder, "trajectories.jsonl"), saved.trajectories));
      // One name for the whole run: a resumed one goes on in the same file.
      const path = join(folder, "tensorboard", "events.out.tfevents.0.seekrl");
      const events = tensorBoard ? await EventLog.open(path, saved.events ?? 0) : undefined;
      return new RunLogs(folder, metrics, trajectories, events);
    } catch (error) {
      await Promise.all(opened.map((log) => log.close()));
      throw error;
    }
  }

  /** Adds a step's numbers. @throws ERR_IO */
  async addMetrics(metrics: Readonly<Record<string, number>>): Promise<void> {
    await this.#metrics.add(metrics);
    await this.#events?.append(metrics);
  }

  /** The numbers of all steps so far, in order. @throws ERR_IO */
  async metrics(): Promise<Record<string, number>[]> {
    const lines = (await readText(join(this.#folder, metricsFile))).split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, number>);
  }

  /** Adds a step's trajectories. @throws ERR_IO */
  async addTrajectories(rows: readonly object[]): Promise<void> {
    await this.#trajectories.add(...rows);
  }

  /** Waits until all is on the disk. @returns how long the logs are */
  async sync(): Promise<LogLengths> {
    await Promise.all([this.#metrics.sync(), this.#trajectories.sync(), this.#events?.sync()]);
    return {
      metrics: this.#metrics.bytes,
      metricsDigest: await digestOfFile(join(this.#folder, metricsFile)),
      trajectories: this.#trajectories.bytes,
      events: this.#events?.bytes,
    };
  }

  /** Closes them; nothing is written any more. */
  async close(): Promise<void> {
    await Promise.all([this.#metrics.close(), this.#trajectories.close(), this.#events?.close()]);
  }
}

async function checkMetrics(folder: string, digest: string): Promise<void> {
  const path = join(folder, metricsFile);
  if ((await digestOfFile(path)) === digest) return;
  throw new SeekError(
    "ERR_FORMAT",
    `${path}: expected SHA-256 ${digest} up to the checkpoint: the file was changed`,
  );
}
