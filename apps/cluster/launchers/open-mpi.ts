/** What Open MPI's mpirun sets for each process. */
import type { Launcher } from "./place.ts";
import { portOf, variableOf, wholeOf, wordOf } from "./variables.ts";

const remedy = "mpirun sets it for each process";
const meeting = "mpirun passes it on: mpirun -x MASTER_ADDR=<host of rank 0> -x MASTER_PORT=29500 ...";

/**
 * OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK and _LOCAL_SIZE; where the ranks meet is not among them, so that MASTER_ADDR and
 * MASTER_PORT must be (https://docs.open-mpi.org/en/v5.0.x/tuning-apps/environment-var.html).
 */
export const openMpi: Launcher = {
  isLauncherOf: (environment) => variableOf(environment, "OMPI_COMM_WORLD_RANK") !== undefined,
  placeOf: (environment) => {
    const whole = (name: string, from: number, to?: number, because?: string): number =>
      wholeOf(environment, `OMPI_COMM_WORLD_${name}`, { from, to, because, remedy });
    const size = whole("SIZE", 1);
    const rank = whole("RANK", 0, size - 1, "below OMPI_COMM_WORLD_SIZE");
    const localSize = whole("LOCAL_SIZE", 1, size, "at most OMPI_COMM_WORLD_SIZE");
    const localRank = whole("LOCAL_RANK", 0, localSize - 1, "below OMPI_COMM_WORLD_LOCAL_SIZE");
    if (size === 1) return undefined;
    const address = wordOf(environment, "MASTER_ADDR", { expected: "the host of rank 0", remedy: meeting });
    const port = portOf(environment, meeting);
    return { rank, size, localRank, localSize, address, port, isServedByLauncher: false, restarts: 0 };
  },
};
