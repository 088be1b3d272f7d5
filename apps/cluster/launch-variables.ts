/** The place of this process among many, from the variables of whatever launched it. */
import { kubernetes } from "./launchers/kubernetes.ts";
import { openMpi } from "./launchers/open-mpi.ts";
import type { Environment, Launcher, Place } from "./launchers/place.ts";
import { pmi } from "./launchers/pmi.ts";
import { skypilot } from "./launchers/skypilot.ts";
import { slurm } from "./launchers/slurm.ts";
import { torchrun } from "./launchers/torchrun.ts";
import { variableOf } from "./launchers/variables.ts";

/**
 * The innermost one that started this process is right: torchrun and `seekrl launch` run inside of all others, and mpirun and
 * mpiexec start their daemons by srun, whose variables then count nodes.
 */
const launchers: readonly Launcher[] = [torchrun, openMpi, pmi, slurm, kubernetes, skypilot];

/**
 * Reads the place of this process from its environment. Of several launchers' variables those of torchrun count before Open
 * MPI's, MPICH's, Slurm's, Kubernetes' and SkyPilot's.
 *
 * @param environment - variables by name; an empty one counts as not set. Default `process.env`
 * @returns undefined for one process alone
 * @throws ERR_ARGUMENT naming a variable that is missing, no number, or contradicts another, with what was expected and a
 *   remedy; for several processes of MPICH or Intel MPI, which do not say where they meet
 * @example
 * const place = placeOf({
 *   ...{ RANK: "3", WORLD_SIZE: "4", LOCAL_RANK: "1", LOCAL_WORLD_SIZE: "2" },
 *   ...{ MASTER_ADDR: "node01", MASTER_PORT: "29500" },
 * });
 * assert.deepEqual([place.rank, place.size, place.localRank, place.address], [3, 4, 1, "node01"]);
 */
export function placeOf(environment: Environment = process.env): Place | undefined {
  const launcher = launchers.find((each) => each.isLauncherOf(environment));
  // A size without a rank is half of what torchrun sets.
  const isHalfSet = (variableOf(environment, "WORLD_SIZE") ?? "1") !== "1";
  return (launcher ?? (isHalfSet ? torchrun : undefined))?.placeOf(environment);
}
