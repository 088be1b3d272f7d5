/** What torchrun sets for each process; `seekrl launch` sets the same. */
import type { Environment, Launcher, Place } from "./place.ts";
import { portOf, variableError, variableOf, wholeOf, wordOf } from "./variables.ts";

const remedy =
  "start the process with torchrun or seekrl launch, or set what they set (LOCAL_RANK=0 and LOCAL_WORLD_SIZE=1 where a machine has one process)";
const own = ["RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"];

/**
 * RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT; torchrun's agent serves the store where
 * TORCHELASTIC_USE_AGENT_STORE says so (https://docs.pytorch.org/docs/stable/elastic/run.html).
 */
export const torchrun: Launcher = {
  isLauncherOf: (environment) => own.some((name) => variableOf(environment, name) !== undefined),
  placeOf: (environment) => {
    const size = wholeOf(environment, "WORLD_SIZE", { from: 1, remedy });
    const below = (name: string, count: number, of: string): number =>
      wholeOf(environment, name, { to: count - 1, because: `below ${of}`, remedy });
    const rank = below("RANK", size, "WORLD_SIZE");
    const localSize = wholeOf(environment, "LOCAL_WORLD_SIZE", {
      ...{ from: 1, to: size, because: "at most WORLD_SIZE", remedy },
    });
    const localRank = below("LOCAL_RANK", Math.min(localSize, rank + 1), "LOCAL_WORLD_SIZE, at most RANK");
    return size === 1 ? undefined : { rank, size, localRank, localSize, ...storeOf(environment) };
  },
};

function storeOf(
  environment: Environment,
): Pick<Place, "address" | "port" | "isServedByLauncher" | "restarts"> {
  const address = wordOf(environment, "MASTER_ADDR", { expected: "the host of rank 0", remedy });
  const port = portOf(environment, remedy);
  const isServedByLauncher = isSaidTrue(environment, "TORCHELASTIC_USE_AGENT_STORE");
  const isCounted = variableOf(environment, "TORCHELASTIC_RESTART_COUNT") !== undefined;
  const restarts = isCounted ? wholeOf(environment, "TORCHELASTIC_RESTART_COUNT", { remedy }) : 0;
  return { address, port, isServedByLauncher, restarts };
}

/** As Python writes a truth value. */
function isSaidTrue(environment: Environment, name: string): boolean {
  const value = variableOf(environment, name) ?? "False";
  if (value === "True" || value === "False") return value === "True";
  throw variableError(environment, name, { expected: "True or False", remedy });
}
