/** What a command of the command line is: a name, a schema of options, a function. */
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { z } from "zod";

/** Where a command reads: a file, a pipe, or somebody who types. */
export type Input = Readable & { readonly isTTY?: boolean };

/** Where a command writes: a file, a pipe, or a terminal of some width. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** What a call of the command line has of its process. */
export interface CommandContext {
  /** Fires on Ctrl-C. */
  readonly signal: AbortSignal;
  /** Variables of the environment, as far as commands read them themselves. */
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Opened when it is asked for: to open a pipe changes it for all who share it. */
  stdin(): Input;
}

/** How a command speaks and when it must stop. */
export interface CommandIo extends CommandContext {
  /** Standard output carries one JSON object and nothing else. */
  readonly json: boolean;
  /** What files of somebody else name is used: programs, addresses, paths. */
  readonly trust?: boolean;
  /** Writes text for people to standard output; silent with `json`. */
  write(text: string): void;
  /** Writes a line to standard error. */
  log(line: string): void;
  /** Writes the result object to standard output; silent without `json`. */
  result(value: object): void;
}

/** A command, its options still unknown. */
export interface Command {
  /** One word, or a group and a word: `index build`. */
  readonly name: string;
  readonly summary: string;
  readonly options: z.ZodObject;
  /** Options that are given by their place, without a flag; the last one may be a list. */
  readonly places?: readonly string[];
  /** Its places may be given by their flags instead. @default false */
  readonly placesAreFlags?: boolean;
  /** Its places are another command, whose own options are told from these by `--` before it. */
  readonly isBefore?: string;
  /** It runs until it is aborted, which is then no failure. */
  readonly isService?: boolean;
  /** Its processes know each other: `seekrl launch` runs several of it, and of others one. @default false */
  readonly knowsRanks?: boolean;
  /** Models and encoders that its folders name are not used by it. @default false */
  readonly ignoresNames?: boolean;
  /** Where it goes on when it is called again after Ctrl-C: completes "the same command goes on". */
  readonly goesOn?: string;
  run(options: unknown, io: CommandIo): Promise<void>;
}

/** The parts of a command, its options typed. */
interface CommandParts<Options extends z.ZodObject> {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Flat; every key is a flag and a key of the config file, and its description is the help text. */
  readonly options: Options;
  readonly places?: readonly (keyof z.output<Options> & string)[];
  readonly placesAreFlags?: boolean;
  readonly isBefore?: string;
  readonly isService?: boolean;
  readonly knowsRanks?: boolean;
  readonly ignoresNames?: boolean;
  readonly goesOn?: string;
  readonly run: (options: z.output<Options>, io: CommandIo) => Promise<void>;
}

/** Waits until a service is told to stop, and says that it does. */
export async function untilStopped({ signal, log }: CommandIo): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
  log("stopping");
}

/** Declares a command; `run` receives options that the schema has checked. */
export function command<Options extends z.ZodObject>(parts: CommandParts<Options>): Command {
  return { ...parts, run: (options, io) => parts.run(options as z.output<Options>, io) };
}

/** A mistake in how a command was called: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
