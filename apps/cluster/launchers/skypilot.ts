/** What SkyPilot sets for the `run` commands of a task, which start once on each node. */
import type { Environment, Launcher } from "./place.ts";
import { portOf, variableError, variableOf, wholeOf } from "./variables.ts";

const usualPort = 29_500;
const remedy = "SkyPilot sets it for the run commands of a task";

/**
 * SKYPILOT_NODE_RANK, SKYPILOT_NODE_IPS, SKYPILOT_NUM_NODES and SKYPILOT_NUM_GPUS_PER_NODE
 * (https://docs.skypilot.co/en/latest/running-jobs/environment-variables.html). One process runs on a node: with more GPUs
 * than one, `seekrl launch` starts one for each.
 */
export const skypilot: Launcher = {
  isLauncherOf: (environment) => variableOf(environment, "SKYPILOT_NODE_RANK") !== undefined,
  placeOf: (environment) => {
    const addresses = (variableOf(environment, "SKYPILOT_NODE_IPS") ?? "").split(/\s+/).filter(Boolean);
    const size = sizeOf(environment, addresses);
    const because = "below SKYPILOT_NUM_NODES";
    const rank = wholeOf(environment, "SKYPILOT_NODE_RANK", { to: size - 1, because, remedy });
    if (size === 1) return undefined;
    refuseIdleGpus(environment);
    const port = portOf(environment, "leave it out or name a port", usualPort);
    const [address = ""] = addresses;
    return { rank, size, localRank: 0, localSize: 1, address, port, isServedByLauncher: false, restarts: 0 };
  },
};

function sizeOf(environment: Environment, addresses: readonly string[]): number {
  const size = wholeOf(environment, "SKYPILOT_NUM_NODES", { from: 1, remedy });
  if (addresses.length === size) return size;
  const expected = `an address a line, SKYPILOT_NUM_NODES=${size} in all`;
  throw variableError(environment, "SKYPILOT_NODE_IPS", { expected, remedy });
}

function refuseIdleGpus(environment: Environment): void {
  const name = "SKYPILOT_NUM_GPUS_PER_NODE";
  if (Number(variableOf(environment, name) ?? 0) <= 1) return;
  throw variableError(environment, name, {
    expected: "0 or 1 where each node runs one process",
    remedy: `start one for each GPU: seekrl launch --processes $${name} --machines $SKYPILOT_NUM_NODES ...`,
  });
}
