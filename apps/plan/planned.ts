/** The fastest of the layouts that fit, and how many devices it takes where none does. */
import {
  aloneSeconds,
  fitsIn,
  type LaidOut,
  type LayoutChoice,
  laidOut,
  layoutsOf,
  type PlannedTraining,
} from "./layouts.ts";
import type { Cluster } from "./machine.ts";

/** A layout, and how well it uses its devices. */
export interface RatedLayout extends LaidOut {
  /** Of the devices' time, the share in which one device that held everything would do the same. */
  readonly efficiency: number;
}

/** A cluster on which a training fits. */
interface LargerCluster {
  readonly devices: number;
  readonly best: RatedLayout;
}

/** What came out for one cluster. */
export interface Plan {
  readonly all: readonly RatedLayout[];
  /** The fastest that fits of those that are there, or of the others where none of these fits. */
  readonly best?: RatedLayout | undefined;
  /** Where none does, the first of twice, four times as many devices on which one does. */
  readonly enough?: LargerCluster | undefined;
}

/** No cluster is looked at beyond this many devices. */
export const mostDevices = 4096;

/**
 * Time and memory of every layout.
 *
 * @param training - what is trained, and how
 * @param cluster - on what
 * @param choice - what is decided already
 * @returns all layouts, the fastest that fits, and the devices of a larger cluster where none does
 */
export function planned(training: PlannedTraining, cluster: Cluster, choice: LayoutChoice = {}): Plan {
  const alone = aloneSeconds(training, cluster);
  const all = layoutsOf(training, cluster, choice).map((layout): RatedLayout => {
    const out = laidOut(training, cluster, layout);
    return { ...out, efficiency: alone / (cluster.devices * out.seconds.total) };
  });
  const best = fastest(all);
  const enough = best === undefined && all.length > 0 ? enoughDevices(training, cluster, choice) : undefined;
  return { all, best, enough };
}

function fastest(all: readonly RatedLayout[]): RatedLayout | undefined {
  const fitting = all.filter(({ fits }) => fits);
  return fitting.sort(
    (a, b) => Number(b.isThere) - Number(a.isThere) || a.seconds.total - b.seconds.total,
  )[0];
}

function enoughDevices(
  training: PlannedTraining,
  cluster: Cluster,
  choice: LayoutChoice,
): LargerCluster | undefined {
  for (let devices = 2 * cluster.devices; devices <= mostDevices; devices *= 2) {
    const larger = { ...cluster, devices };
    const layouts = layoutsOf(training, larger, choice);
    if (!layouts.some((layout) => fitsIn(training, larger, layout))) continue;
    const { best } = planned(training, larger, choice);
    if (best !== undefined) return { devices, best };
  }
  return undefined;
}
