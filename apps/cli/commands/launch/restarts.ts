/** A job that is started again after one of its processes failed. */
import { setTimeout as pause } from "node:timers/promises";
import { codeOf, messageOf } from "../../../../lib/base/errors.ts";
import type { CommandIo } from "../../command.ts";

/** How often, and who hears of it. */
interface RestartOptions extends Pick<CommandIo, "signal" | "log"> {
  /** Starts after the first one. */
  readonly most: number;
  /** Before the second start; twice as long before each further one, but no longer than a minute. @default 1000 */
  readonly pauseMs?: number;
}

const longestPauseMs = 60_000;

/**
 * Starts a job until it ends well. Only where a process was killed, or says ERR_REMOTE of another rank or a server, may a
 * further start end otherwise: a wrong call, a file that is missing or broken, an error of ours fail again.
 *
 * @param start - runs the job; is told how often it was started before
 * @param options - see {@link RestartOptions}
 * @returns how often it was started again
 * @throws what the last start threw
 */
export async function withRestarts(
  start: (restarts: number) => Promise<void>,
  { most, pauseMs = 1000, signal, log }: RestartOptions,
): Promise<number> {
  for (let restarts = 0; ; restarts++) {
    try {
      await start(restarts);
      return restarts;
    } catch (error) {
      if (codeOf(error) !== "ERR_REMOTE" || restarts >= most || signal.aborted) throw error;
      log(`${messageOf(error)}\nall are started again (${restarts + 1} of ${most})`);
      const pauseNowMs = Math.min(pauseMs * 2 ** restarts, longestPauseMs);
      await pause(pauseNowMs, undefined, { signal }).catch(() => {
        throw error;
      });
    }
  }
}
