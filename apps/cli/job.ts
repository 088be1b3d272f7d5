/** A command that several processes run together: where this one stands, and what it prints. */

import { placeOf } from "../../lib/comm/launch-variables.ts";
import type { ProcessGroup } from "../../lib/comm/process-group.ts";
import type { CommandIo } from "./command.ts";

/** One process's part in a command. */
export interface Job {
  /** Undefined where one process is all there is. */
  readonly processGroup: ProcessGroup | undefined;
  /** Of other ranks than the first silent, but for the log that `seekrl launch` keeps of each. */
  readonly io: CommandIo;
}

/** What a rank that does not print has to say goes where `seekrl launch` keeps it; nowhere elsewhere. */
function quietIo(io: CommandIo): CommandIo {
  const hasLog = process.channel !== undefined;
  return { ...io, write: () => {}, result: () => {}, log: hasLog ? io.log : () => {} };
}

/**
 * Runs a command's work as one of the ranks that a launcher started; alone without one.
 *
 * @param io - the command's
 * @param work - gets the process group
 * @throws what the work throws, of which the other ranks are told
 */
export async function inJob(io: CommandIo, work: (job: Job) => Promise<void>): Promise<void> {
  const place = placeOf();
  if (place === undefined || place.size === 1) return work({ processGroup: undefined, io });
  const { rank, size, address, port, isServedByLauncher: isServed, restarts } = place;
  const { ProcessGroup } = await import("../../lib/comm/process-group.ts");
  const processGroup = await ProcessGroup.open({ rank, size, address, port, isServed, job: `${restarts}` });
  try {
    await work({ processGroup, io: rank === 0 ? io : quietIo(io) });
  } catch (error) {
    processGroup.fail(error);
    throw error;
  } finally {
    await processGroup.close();
  }
}
