/** What the mpiexec of MPICH and of Intel MPI sets for each process: known, so that it is refused. */
import type { Environment, Launcher } from "./place.ts";
import { variableError, variableOf } from "./variables.ts";

const torchrunsVariables = [
  "RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$MPI_LOCALRANKID LOCAL_WORLD_SIZE=$MPI_LOCALNRANKS",
  "MASTER_ADDR=<host of rank 0> MASTER_PORT=29500",
].join(" ");
const remedy = `call torchrun, srun, seekrl launch or Open MPI's mpirun, or say it as torchrun does: mpiexec ... sh -c '${torchrunsVariables} exec <command>'`;

/** srun sets PMI_RANK and PMI_SIZE too, for MPI of its own processes; those that mpiexec starts by srun count otherwise. */
function isOfSlurm(environment: Environment): boolean {
  const size =
    variableOf(environment, "SLURM_STEP_NUM_TASKS") ?? variableOf(environment, "SLURM_NTASKS") ?? "";
  const isRank = variableOf(environment, "PMI_RANK") === variableOf(environment, "SLURM_PROCID");
  return isRank && variableOf(environment, "PMI_SIZE") === size;
}

/**
 * PMI_RANK and PMI_SIZE: where the ranks meet is not among them, nor, by one name for all, which process of its machine each
 * is. Unknown, each would be a training of its own.
 */
export const pmi: Launcher = {
  isLauncherOf: (environment) =>
    Number(variableOf(environment, "PMI_SIZE") ?? 1) > 1 &&
    variableOf(environment, "PMI_RANK") !== undefined &&
    !isOfSlurm(environment),
  placeOf: (environment) => {
    const expected = "1, since where the processes of MPICH and Intel MPI meet is not known";
    throw variableError(environment, "PMI_SIZE", { expected, remedy });
  },
};
