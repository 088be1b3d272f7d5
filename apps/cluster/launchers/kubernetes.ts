/** What a pod of a Kubernetes Indexed Job has, alone or in a JobSet. */
import type { Launcher } from "./place.ts";
import { portOf, variableOf, wholeOf, wordOf } from "./variables.ts";

/** The port that torchrun takes too; a pod has its ports to itself. */
const usualPort = 29_500;
const countRemedy =
  "set it in the container's env to the job's completions; 1 makes each pod a job of its own";
const addressRemedy =
  "set it in the container's env: <job>-0.<headless service>, or in a JobSet the annotation jobset.sigs.k8s.io/coordinator";

/**
 * JOB_COMPLETION_INDEX is all that Kubernetes sets
 * (https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode); JobSet adds labels and annotations and no
 * variables. WORLD_SIZE and MASTER_ADDR stand in the manifest, MASTER_PORT may. One process runs in a pod.
 */
export const kubernetes: Launcher = {
  isLauncherOf: (environment) => variableOf(environment, "JOB_COMPLETION_INDEX") !== undefined,
  placeOf: (environment) => {
    const size = wholeOf(environment, "WORLD_SIZE", { from: 1, remedy: countRemedy });
    // A pod on its own may have any index.
    if (size === 1) return undefined;
    const because = "below WORLD_SIZE";
    const rank = wholeOf(environment, "JOB_COMPLETION_INDEX", {
      ...{ to: size - 1, because, remedy: countRemedy },
    });
    const expected = "the name of the pod with index 0";
    const address = wordOf(environment, "MASTER_ADDR", { expected, remedy: addressRemedy });
    const port = portOf(environment, "leave it out or name a port", usualPort);
    return { rank, size, localRank: 0, localSize: 1, address, port, isServedByLauncher: false, restarts: 0 };
  },
};
