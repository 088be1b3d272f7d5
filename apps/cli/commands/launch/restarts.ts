/** A job that is started again after one of its processes failed. */
import { codeOf, messageOf } from "../../../../lib/base/errors.ts";
import type { CommandIo } from "../../command.ts";

/** How often, and who hears of it. */
export interface RestartOptions extends Pick<CommandIo, "signal" | "log"> {
  /** Starts after the first one. */
  readonly most: number;
}

/**
 * Starts a job until it ends well. What was called in a wrong way is not called again, nor what was told to end.
 *
 * @param start - runs the job; is told how often it was started before
 * @param options - see {@link RestartOptions}
 * @returns how often it was started again
 * @throws what the last start threw
 */
export async function withRestarts(
  start: (restarts: number) => Promise<void>,
  { most, signal, log }: RestartOptions,
): Promise<number> {
  for (let restarts = 0; ; restarts++) {
    try {
      await start(restarts);
      return restarts;
    } catch (error) {
      if (codeOf(error) !== "ERR_REMOTE" || restarts >= most || signal.aborted) throw error;
      log(`${messageOf(error)}\nall are started again (${restarts + 1} of ${most})`);
    }
  }
}
