/** What Slurm's srun sets for each process. */
import type { Environment, Launcher } from "./place.ts";
import { slurmCounts, slurmHosts } from "./slurm-hosts.ts";
import { portOf, variableError, variableOf, wholeOf, wordOf } from "./variables.ts";

const remedy = "srun sets it for each process of a step";
/** Of the first port that is given, and how many follow: below those that Linux hands out by itself (32768 on). */
const [firstPort, numPorts] = [12_000, 20_000];
/** Steps of one job that run at the same time meet at ports apart. */
const portsBetweenSteps = 97;

/**
 * SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_NODEID, SLURM_STEP_TASKS_PER_NODE and SLURM_STEP_NODELIST
 * (https://slurm.schedmd.com/srun.html). Ranks meet at the first host of the step, at a port that follows from the job's and
 * the step's number, unless MASTER_ADDR and MASTER_PORT name others.
 */
export const slurm: Launcher = {
  isLauncherOf: (environment) => variableOf(environment, "SLURM_PROCID") !== undefined,
  placeOf: (environment) => {
    if (!isInStep(environment)) return refuseBatch(environment);
    const named = variableOf(environment, "SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
    const size = wholeOf(environment, named, { from: 1, remedy });
    const rank = wholeOf(environment, "SLURM_PROCID", { to: size - 1, because: `below ${named}`, remedy });
    if (size === 1) return undefined;
    const localSize = localSizeOf(environment, size);
    const because = `below this node's ${localSize} tasks`;
    const localRank = wholeOf(environment, "SLURM_LOCALID", { to: localSize - 1, because, remedy });
    const [address, port] = [addressOf(environment), slurmPortOf(environment)];
    return { rank, size, localRank, localSize, address, port, isServedByLauncher: false, restarts: 0 };
  },
};

/** A batch script has SLURM_PROCID=0 too, and a step's variables in the processes of srun alone. */
function isInStep(environment: Environment): boolean {
  return ["SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST"].some((name) => variableOf(environment, name));
}

function refuseBatch(environment: Environment): undefined {
  if ((variableOf(environment, "SLURM_NTASKS") ?? "1") === "1") return undefined;
  throw variableError(environment, "SLURM_NTASKS", {
    expected: "1 where no srun started the process",
    remedy: "put srun before the command, or ask for one task with --cpus-per-task",
  });
}

function localSizeOf(environment: Environment, size: number): number {
  const name = "SLURM_STEP_TASKS_PER_NODE";
  const list = variableOf(environment, name);
  if (list === undefined) {
    const because = "at most all tasks";
    return wholeOf(environment, "SLURM_NTASKS_PER_NODE", { from: 1, to: size, because, remedy });
  }
  const counts = slurmCounts(list);
  if (counts?.reduce((sum, count) => sum + count, 0) !== size)
    throw variableError(environment, name, { expected: `counts such as 2(x3),1 of ${size} tasks`, remedy });
  const because = `below the ${counts.length} nodes of ${name}`;
  const node = wholeOf(environment, "SLURM_NODEID", { to: counts.length - 1, because, remedy });
  return counts[node] ?? 0;
}

function addressOf(environment: Environment): string {
  const given = variableOf(environment, "MASTER_ADDR");
  if (given !== undefined) return given;
  const isOfStep = variableOf(environment, "SLURM_STEP_NODELIST") !== undefined;
  const name = isOfStep ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const how = { expected: "hosts such as node[01-03,07],gpu1", remedy: `${remedy}; or set MASTER_ADDR` };
  const list = wordOf(environment, name, how);
  try {
    return slurmHosts(list).next().value ?? list;
  } catch {
    throw variableError(environment, name, how);
  }
}

function slurmPortOf(environment: Environment): number {
  if (variableOf(environment, "MASTER_PORT") !== undefined) return portOf(environment, remedy);
  const job = wholeOf(environment, "SLURM_JOB_ID", { remedy: `${remedy}; or set MASTER_PORT` });
  const isNumbered = variableOf(environment, "SLURM_STEP_ID") !== undefined;
  const step = isNumbered ? wholeOf(environment, "SLURM_STEP_ID", { remedy }) : 0;
  return firstPort + ((job + step * portsBetweenSteps) % numPorts);
}
