/** A command that several processes run together: where this one stands, and what it prints. */

import type { ProcessGroup } from "../../lib/comm/process-group.ts";
import { placeOf } from "../cluster/launch-variables.ts";
import { torchrun } from "../cluster/launchers/torchrun.ts";
import { type CommandIo, UsageError } from "./command.ts";
import { jobLayout, type Sharing } from "./report/job-layout.ts";

/** One process's part in a command. */
export interface Job {
  /** The ranks that run the command together; undefined where one process is all there is, and where they share a model. */
  readonly processGroup: ProcessGroup | undefined;
  /** The ranks that share the model, of which this is the first; undefined where each has a whole one. */
  readonly tensorParallel: ProcessGroup | undefined;
  /** How the ranks share the work, in words; undefined where one process is all there is. */
  readonly layoutLine: string | undefined;
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
 * @param sharing - how many ranks share the model: 1, or all that there are, of which the first alone runs the work; what else
 *   they share out
 * @throws what the work throws, of which the other ranks are told; UsageError for another number of ranks
 */
export async function inJob(
  io: CommandIo,
  work: (job: Job) => Promise<void>,
  sharing: Sharing = {},
): Promise<void> {
  const { tensorParallel = 1 } = sharing;
  const place = placeOf(io.env);
  const numRanks = place?.size ?? 1;
  if (!Number.isInteger(Math.log2(tensorParallel)))
    throw new UsageError(`--tensor-parallel: expected a power of two, got ${tensorParallel}`);
  if (tensorParallel !== 1 && tensorParallel !== numRanks) throw otherSize(tensorParallel, numRanks);
  if (place === undefined || numRanks === 1) {
    return work({ processGroup: undefined, tensorParallel: undefined, layoutLine: undefined, io });
  }
  const { rank, size, address, port, isServedByLauncher: isServed, restarts } = place;
  const { ProcessGroup } = await import("../../lib/comm/process-group.ts");
  const { signal } = io;
  const where = { rank, size, address, port, isServed, job: `${restarts}`, signal };
  const processGroup = await toldWhileWaiting(io, where, ProcessGroup.open(where));
  try {
    const own = rank === 0 ? io : quietIo(io);
    const layoutLine = jobLayout(size, sharing);
    own.log(`layout     ${layoutLine}`);
    if (tensorParallel === 1) await work({ processGroup, tensorParallel: undefined, layoutLine, io: own });
    else
      await share(processGroup, (group) =>
        work({ processGroup: undefined, tensorParallel: group, layoutLine, io }),
      );
  } catch (error) {
    processGroup.fail(error);
    throw error;
  } finally {
    await processGroup.close();
  }
}

/** A job of which a process is missing says nothing by itself. */
const quietMs = 10_000;

/** Says that it waits for the others where that takes long. */
async function toldWhileWaiting<Group>(
  { log }: CommandIo,
  { rank, size, address, port }: { rank: number; size: number; address: string; port: number },
  meeting: Promise<Group>,
): Promise<Group> {
  const message = `rank ${rank} waits until all ${size} ranks have come to ${address}:${port}, 5 minutes at most`;
  const timer = setTimeout(() => log(message), quietMs);
  try {
    return await meeting;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs a command's work on a model that all processes of the job share, in the first of them; as ever where each has its own.
 *
 * @param io - the command's
 * @param tensorParallel - how many ranks share it: 1, or all that there are
 * @param work - gets those ranks
 * @throws as {@link inJob}; UsageError where a launch's processes do not share it
 */
export async function onSharedModel(
  io: CommandIo,
  tensorParallel: number,
  work: (tensorParallel: ProcessGroup | undefined) => Promise<void>,
): Promise<void> {
  if (tensorParallel === 1) {
    // Each process of a launch would do all of it. Other launchers' variables stand in shells of theirs, too.
    const numRanks = (torchrun.isLauncherOf(io.env) && torchrun.placeOf(io.env)?.size) || 1;
    if (numRanks > 1) throw copiesError(numRanks);
    return work(undefined);
  }
  await inJob(io, (job) => work(job.tensorParallel), { tensorParallel });
}

function otherSize(asked: number, numRanks: number): UsageError {
  const remedy = `Remedy: seekrl launch --processes ${asked} -- ..., or without the option`;
  return new UsageError(
    `--tensor-parallel: expected 1 or the number of processes, ${numRanks}, got ${asked}. ${remedy}`,
  );
}

function copiesError(numRanks: number): UsageError {
  return new UsageError(
    `--tensor-parallel: expected ${numRanks}, the number of processes, got 1: each would do all of the work. Remedy: give it, or call the command without seekrl launch`,
  );
}

/** The first rank works, the others do their part of what it does with its models. */
async function share(group: ProcessGroup, work: (group: ProcessGroup) => Promise<void>): Promise<void> {
  const { followModels, tellEnd } = await import("./open/shared-model.ts");
  if (group.rank > 0) return followModels(group);
  await work(group);
  await tellEnd(group);
}
