/** Where a training run is kept, how often its state is written, and which step is the best. */
import { countKind, optionsOf, wholeKind } from "../../base/check-options.ts";
import type { Settings } from "./settings.ts";

/** Where a run is kept, and how often. */
export interface RunOptions {
  /** Logs, checkpoints and the final model stand in it. A run that is already there goes on; nobody else writes it. */
  readonly folder: string;
  /** Also keeps the metrics as an event file in `tensorboard/`. @default false */
  readonly tensorBoard?: boolean | undefined;
  /**
   * Writes ids, log-probabilities, their gap to the trainer's, entropies and advantages of each token into
   * `trajectories.jsonl`, about 27 bytes a token of the policy and 5 a token of others.
   *
   * @default true
   */
  readonly logTokens?: boolean | undefined;
  /** Steps between checkpoints; the last step always gets one. @default 50 */
  readonly checkpointEvery?: number | undefined;
  /** Newest checkpoints kept. @default 2 */
  readonly keep?: number | undefined;
  /** Also keeps the checkpoint of the step that evaluated best, as `checkpoints/best`. @default it is removed in its turn */
  readonly best?: BestOptions | undefined;
  /** What decides the outcome and is not the loop's own: a resumed run is refused when they differ. @default none */
  readonly settings?: Settings | undefined;
  /** Options of the program, kept as `config.yaml`. @default none */
  readonly config?: Settings | undefined;
  /** A comment above them: how the processes share the work, which the options do not say. @internal */
  readonly layoutLine?: string | undefined;
  /** Adds files, such as the tokenizer's, so that a checkpoint can be loaded as a model folder. */
  readonly onCheckpoint?: ((folder: string) => Promise<void>) | undefined;
}

/** How the best step is chosen. */
export interface BestOptions {
  /** Its name among a step's metrics, such as `eval/em`. */
  readonly metric: string;
  /** Whether more or less of it is better. @default "max" */
  readonly mode?: "max" | "min" | undefined;
}

/** Of an option `run`. */
export const runKind = optionsOf<RunOptions>(
  {
    folder: "string",
    tensorBoard: "boolean",
    logTokens: "boolean",
    checkpointEvery: wholeKind,
    keep: countKind,
    best: optionsOf<BestOptions>({ metric: "string", mode: ["max", "min"] }, ["metric"]),
    settings: "object",
    config: "object",
    layoutLine: "string",
    onCheckpoint: "function",
  },
  ["folder"],
);
