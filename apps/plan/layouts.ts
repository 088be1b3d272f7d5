/** Ways to lay a training out over devices, and what each takes in time and memory. */
import { adapterParameters } from "../../lib/model/form/adapter-size.ts";
import {
  numParameters,
  stateBytes,
  weightBytes,
  type ZeroLevel,
  zeroLevels,
} from "../../lib/train/memory/plan.ts";
import type { Cluster } from "./machine.ts";
import { type DeviceMemory, deviceMemory, type TrainedModel } from "./memory.ts";
import { computedParts, type Parts } from "./parts.ts";
import { type Layout, type StepSeconds, type StepSizes, stepSeconds } from "./step.ts";
import { splitConfig } from "./work.ts";
import { textSums, type Workload } from "./workload.ts";

/** A training, before it is laid out. */
export interface PlannedTraining {
  readonly model: TrainedModel;
  readonly workload: Workload;
  readonly staleness: number;
  readonly overlap: number;
  readonly checkpointEvery: number;
  /** What a device takes for each part. @default computed from what it reaches */
  readonly parts?: Parts | undefined;
}

/** A layout, and what came out for it. */
export interface LaidOut {
  readonly layout: Layout;
  readonly seconds: StepSeconds;
  /** Of a device that trains, and of one that only generates where there are such. */
  readonly memory: DeviceMemory;
  readonly rolloutMemory?: DeviceMemory | undefined;
  /** Of all texts of a step, by its seconds. */
  readonly tokensPerSecond: number;
  readonly fits: boolean;
  /** Whether a job can be started so: one tensor group is, as a whole job; several that train together are not there yet. */
  readonly isThere: boolean;
}

/** Which layouts are looked at; what is not given is free. */
export interface LayoutChoice {
  readonly zero?: ZeroLevel | undefined;
  readonly tensor?: number | undefined;
  readonly rolloutDevices?: number | undefined;
}

const tensors = [1, 2, 4, 8] as const;

/**
 * Every layout that the model and the machines allow.
 *
 * @param training - whose heads and widths are to be shared
 * @param cluster - what it runs on
 * @param choice - what is decided already
 * @returns layouts; devices that only generate are a quarter, a half or three quarters where stale weights make use of them
 */
export function layoutsOf(
  { model, staleness, workload }: PlannedTraining,
  { devices, perMachine }: Cluster,
  choice: LayoutChoice = {},
): Layout[] {
  const isApart = staleness > 0 && workload.isGenerated;
  const apart = isApart ? [0, 1 / 4, 1 / 2, 3 / 4].map((share) => share * devices) : [0];
  const layouts: Layout[] = [];
  for (const tensor of choice.tensor === undefined ? tensors : [choice.tensor]) {
    // A group stands in one machine, also where machines are full.
    const isEven = devices % tensor === 0 && Math.min(devices, perMachine) % tensor === 0;
    if (!isEven || splitConfig(model.config, tensor) === undefined) continue;
    for (const rolloutDevices of choice.rolloutDevices === undefined ? apart : [choice.rolloutDevices]) {
      const ranks = (devices - rolloutDevices) / tensor;
      if (ranks < 1 || !Number.isInteger(ranks) || !Number.isInteger(rolloutDevices / tensor)) continue;
      for (const zero of choice.zero === undefined ? zeroLevels : [choice.zero])
        if (zero === 0 || ranks > 1) layouts.push({ zero, tensor, rolloutDevices });
    }
  }
  return layouts;
}

function partOf({ model }: PlannedTraining, tensor: number): TrainedModel {
  return { ...model, config: splitConfig(model.config, tensor) ?? model.config };
}

function memoriesOf(training: PlannedTraining, cluster: Cluster, { zero, tensor, rolloutDevices }: Layout) {
  const model = partOf(training, tensor);
  const { memoryBytes } = cluster.device;
  const { length } = textSums(training.workload);
  const longest = training.workload.isGenerated ? length : undefined;
  const ranks = (cluster.devices - rolloutDevices) / tensor;
  const isApart = rolloutDevices > 0;
  const memory = deviceMemory(
    model,
    { zero, ranks },
    { memoryBytes, longest: isApart ? undefined : longest, isGathered: training.workload.isGenerated },
  );
  if (!isApart || longest === undefined) return { memory };
  return { memory, rolloutMemory: generatingMemory(model, memoryBytes, longest) };
}

/** A device that only generates has weights, keys and values: the plan of an adapter with nothing in it. */
function generatingMemory(model: TrainedModel, memoryBytes: number, longest: number): DeviceMemory {
  const alone = { ...model, hasCritic: false, hasReference: false, batch: { tokens: 0, rows: 0 } };
  return deviceMemory({ ...alone, loraRank: 1 }, { zero: 0, ranks: 1 }, { memoryBytes, longest });
}

function sizesOf(
  training: PlannedTraining,
  model: TrainedModel,
  memory: DeviceMemory,
  room: number,
): StepSizes {
  const isAdapter = model.loraRank > 0;
  const trained = isAdapter
    ? adapterParameters(model.config, { rank: model.loraRank })
    : numParameters(model.config);
  const trainedBytes = isAdapter ? 4 * trained : weightBytes(model.config, model.dtype, model.weights);
  const { optimiser } = stateBytes(trained, isAdapter ? "float32" : model.dtype, model);
  const { staleness, overlap, checkpointEvery } = training;
  return {
    ...{ trained, trainedBytes, stateBytes: optimiser },
    ...{ microBatchTokens: model.batch.tokens, recomputed: memory.recomputed, room },
    ...{ staleness, overlap, checkpointEvery },
  };
}

/**
 * Time and memory of a layout.
 *
 * @param training - what is trained, and how
 * @param cluster - on what
 * @param layout - one of `layoutsOf`
 * @returns what came out
 */
export function laidOut(training: PlannedTraining, cluster: Cluster, layout: Layout): LaidOut {
  const { memory, rolloutMemory } = memoriesOf(training, cluster, layout);
  const engine = rolloutMemory ?? memory;
  const seconds = secondsOf(training, cluster, layout, { memory, room: engine.sequences });
  const { sequences, length } = textSums(training.workload);
  return {
    ...{ layout, seconds, memory, rolloutMemory },
    tokensPerSecond: (sequences * length) / seconds.total,
    fits: memory.fits && engine.fits,
    isThere: layout.tensor === 1 || layout.tensor === cluster.devices,
  };
}

function secondsOf(
  training: PlannedTraining,
  cluster: Cluster,
  layout: Layout,
  { memory, room }: { readonly memory: DeviceMemory; readonly room: number },
): StepSeconds {
  const model = partOf(training, layout.tensor);
  const sizes = sizesOf(training, model, memory, room);
  const form = {
    weightBytes: weightBytes(model.config, model.dtype, model.weights),
    isAdapter: model.loraRank > 0,
    stateBytesPerWeight: sizes.stateBytes / sizes.trained,
  };
  const parts = training.parts ?? computedParts(model.config, cluster.device, form);
  const { workload } = training;
  return stepSeconds({ cluster, layout, parts, workload, config: model.config, sizes });
}

/**
 * Seconds of a step on one device, were its memory large enough.
 *
 * @param training - what is trained, and how
 * @param cluster - whose device it is
 * @returns seconds
 */
export function aloneSeconds(training: PlannedTraining, cluster: Cluster): number {
  const device = { ...cluster.device, memoryBytes: Number.MAX_SAFE_INTEGER };
  const alone = { ...cluster, devices: 1, perMachine: 1, device };
  const layout: Layout = { zero: 0, tensor: 1, rolloutDevices: 0 };
  return laidOut({ ...training, staleness: 0 }, alone, layout).seconds.total;
}

/**
 * Whether a layout fits, without the time that it takes.
 *
 * @param training - what is trained, and how
 * @param cluster - on what
 * @param layout - one of `layoutsOf`
 */
export function fitsIn(training: PlannedTraining, cluster: Cluster, layout: Layout): boolean {
  const { memory, rolloutMemory } = memoriesOf(training, cluster, layout);
  return memory.fits && (rolloutMemory ?? memory).fits;
}
