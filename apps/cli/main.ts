/** The command line: runs one call of it, and turns the outcome into an exit code. */
import { setMaxListeners } from "node:events";
import { CommanderError } from "commander";
import { writeRefusal } from "../../lib/base/disk/refused-write.ts";
import { codeOf } from "../../lib/base/errors.ts";
import { type CommandContext, type Input, type Output, UsageError } from "./command.ts";
import { commands } from "./commands.ts";
import { type Ending, tellEnding, wrongUsage } from "./ending.ts";
import { Interrupted, runCall } from "./program.ts";

/** 0 done, 1 failed, 2 called in a wrong way. */
type ExitCode = 0 | 1 | 2;

/** What a call has instead of the process's own. */
interface MainOptions {
  /** Fires on Ctrl-C. */
  readonly signal: AbortSignal;
  /** @default the process's */
  readonly stdin?: Input;
  /** @default the process's */
  readonly stdout?: Output;
  /** @default the process's */
  readonly stderr?: Output;
  /** Variables that commands read; the library reads the process's, HF_TOKEN for one. @default the process's */
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Runs one command line.
 *
 * @param args - the arguments after the program's name
 * @param options - what ends it, where it reads and writes
 * @returns the exit code; messages went to standard error
 */
export async function main(
  args: readonly string[],
  { signal, stdin, stdout = process.stdout, stderr = process.stderr, env = process.env }: MainOptions,
): Promise<ExitCode> {
  // Every sequence of a command listens to it.
  setMaxListeners(0, signal);
  const context = { signal, env, stdout, stderr, stdin: () => stdin ?? process.stdin };
  try {
    await runCall(args, commands, context);
    return 0;
  } catch (error) {
    return report(writeRefusal(error) ?? error, context);
  }
}

function report(error: unknown, context: CommandContext): ExitCode {
  const told = (ending: Ending, exitCode: ExitCode): ExitCode => {
    tellEnding(ending, exitCode, context);
    return exitCode;
  };
  if (error instanceof Interrupted) return told({ code: "ERR_ABORTED", message: "" }, 1);
  const { message, stack = message } = error as Error;
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : wrongUsage;
  if (error instanceof UsageError) return told({ code: undefined, message }, wrongUsage);
  const code = codeOf(error);
  return told({ code, message: code === undefined ? stack : message }, 1);
}
