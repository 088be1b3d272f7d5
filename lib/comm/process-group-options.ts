/** What a process group is opened with. */
import { countKind, numberIn, type OptionKinds, wholeKind } from "../base/check-options.ts";

/** Where this process stands in its job, and where all of them meet. */
export interface ProcessGroupOptions {
  /** This process's number, from 0. */
  readonly rank: number;
  /** How many there are. */
  readonly size: number;
  /** The machine of rank 0, as the others reach it. @default "127.0.0.1" */
  readonly address?: string;
  /** Where rank 0 serves the store at which all meet. */
  readonly port: number;
  /** Whether a launcher serves the store, as torchrun does; rank 0 then only connects to it. @default false */
  readonly isServed?: boolean;
  /** Names the job where one store serves several, one after the other. @default "0" */
  readonly job?: string;
  /** How long all have to come, in ms. @default 5 minutes */
  readonly arrivalMs?: number;
  /** How long a rank may be silent before it counts as dead, in ms. @default 15 s */
  readonly patienceMs?: number;
  /** How long others may wait for a rank that is not dead, in ms. @default 1 hour */
  readonly stallMs?: number;
  /** Ends the meeting of the ranks. */
  readonly signal?: AbortSignal | undefined;
}

/** The type of each. */
export const optionKinds: OptionKinds<ProcessGroupOptions> = {
  rank: wholeKind,
  size: countKind,
  address: "string",
  port: numberIn({ from: 1, to: 65535, isWhole: true }),
  isServed: "boolean",
  job: "string",
  arrivalMs: countKind,
  patienceMs: countKind,
  stallMs: countKind,
  signal: "signal",
};
