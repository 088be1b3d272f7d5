/** Learning rates and counts as functions of the step. */
import { checkOptions, countKind, numberIn, type OptionKinds, wholeKind } from "../../base/check-options.ts";

/** The learning rate of step 0, 1, ... */
export type Schedule = (step: number) => number;

/** How a learning rate moves. */
export interface ScheduleOptions {
  /** The highest rate. */
  readonly peak: number;
  /** Steps of linear warm-up; the first step already moves. @default 0 */
  readonly warmupSteps?: number;
  /** @default "constant" */
  readonly decay?: "constant" | "linear" | "cosine";
  /** The step at which a decay ends; ignored by `constant`. @default never */
  readonly steps?: number;
  /** Where a decay ends, as a share of `peak`. @default 0 */
  readonly floor?: number;
}

const optionKinds: OptionKinds<ScheduleOptions> = {
  peak: numberIn({ from: 0 }),
  warmupSteps: wholeKind,
  decay: ["constant", "linear", "cosine"],
  steps: wholeKind,
  floor: numberIn({ from: 0 }),
};

/**
 * A warm-up from `peak / warmupSteps` to `peak`, then a decay to `floor * peak` at `steps`.
 *
 * @param options - peak, warm-up and decay
 * @returns the rate of each step, counted from 0
 * @throws ERR_ARGUMENT for an unknown key or a value of another type; ERR_RANGE for a rate or count that is none
 * @example
 * const rate = schedule({ peak: 1, warmupSteps: 2, decay: "linear", steps: 6 });
 * assert.deepEqual([0, 1, 2, 4, 6].map(rate), [0.5, 1, 1, 0.5, 0]);
 */
export function schedule(options: ScheduleOptions): Schedule {
  checkOptions("schedule", options, optionKinds, ["peak"]);
  const { peak, warmupSteps = 0, decay = "constant", steps = Number.POSITIVE_INFINITY, floor = 0 } = options;
  return (step) => {
    if (step < warmupSteps) return (peak * (step + 1)) / warmupSteps;
    if (decay === "constant" || steps === Number.POSITIVE_INFINITY) return peak;
    const done = Math.min(1, (step - warmupSteps) / Math.max(1, steps - warmupSteps));
    const share = decay === "linear" ? 1 - done : (1 + Math.cos(Math.PI * done)) / 2;
    return peak * (floor + (1 - floor) * share);
  };
}

/**
 * A whole number that moves in a line from one value to another, rounded down, as Agentic-RAG-R1 has its number of
 * rollouts go from 8 to 4.
 *
 * @param options - `from` at the first step, towards `to` behind the last of `steps`
 * @returns the number of each step, counted from 0
 * @throws ERR_ARGUMENT for an unknown key or a value of another type
 * @example
 * assert.deepEqual([0, 1, 2, 3].map(countSchedule({ from: 8, to: 4, steps: 4 })), [8, 7, 6, 5]);
 */
export function countSchedule(options: {
  readonly from: number;
  readonly to: number;
  readonly steps: number;
}): Schedule {
  const kinds = { from: wholeKind, to: wholeKind, steps: countKind };
  const { from, to, steps } = checkOptions("countSchedule", options, kinds, ["from", "to", "steps"]);
  return (step) => Math.floor(from + ((to - from) * Math.min(step, steps)) / steps);
}
