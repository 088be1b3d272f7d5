/** What ended a process of the command line: told to `seekrl launch` where that started it, on standard error otherwise. */
import { type ErrorCode, errorCodeIn } from "../../lib/base/errors.ts";
import { torchrun } from "../cluster/launchers/torchrun.ts";
import type { CommandContext } from "./command.ts";

/** Exit code of a call that is wrong, and stays so however often it is made. */
export const wrongUsage = 2;

/** Why a process ended. */
export interface Ending {
  /** Of the error; undefined for a call that is wrong, and for what is no error of SeekRL. */
  readonly code: ErrorCode | undefined;
  /** Without the code; empty where all was said before. */
  readonly message: string;
}

/** The end that another process told of. */
export function endingIn(told: unknown): Ending {
  const { message } = Object(told) as { readonly message?: unknown };
  return { code: errorCodeIn(told), message: typeof message === "string" ? message : "" };
}

/**
 * An end as it is shown.
 *
 * @param ending - of a process
 * @param exitCode - with which it ended; null where a signal ended it
 * @returns lines; none where it said nothing
 */
export function endingText({ code, message }: Ending, exitCode: number | null): string {
  if (message === "") return "";
  const label = exitCode === wrongUsage ? "error" : code;
  return label === undefined ? `${message}\n` : `${label}: ${message}\n`;
}

/**
 * Says what ended this process. Of one that `seekrl launch` started the code decides whether another start may end well; the
 * message stands in the rank's log and is shown once, however many ranks end with it.
 *
 * @param ending - of this process
 * @param exitCode - with which it will end
 * @param context - says who started it, and has its standard error
 */
export function tellEnding(
  ending: Ending,
  exitCode: number,
  { stderr, env }: Pick<CommandContext, "stderr" | "env">,
): void {
  const say = (): void => void stderr.write(endingText(ending, exitCode));
  if (process.connected && torchrun.isLauncherOf(env)) process.send?.(ending, (error) => error && say());
  else say();
}
