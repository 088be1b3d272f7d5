/** A small training to plan, with parts whose times are plain numbers. */

import type { PlannedTraining } from "../../apps/plan/layouts.ts";
import type { Cluster, Device } from "../../apps/plan/machine.ts";
import type { Parts } from "../../apps/plan/parts.ts";
import type { Workload } from "../../apps/plan/workload.ts";
import { decoderConfig } from "../../lib/model/config/config.ts";

/** 1e9 bytes a second to neighbours, without latency. */
export const device: Device = {
  flops: 1e12,
  bytesPerSecond: 1e11,
  memoryBytes: 16e9,
  link: { bytesPerSecond: 1e9, latencySeconds: 0 },
};

/** Machines of four devices, a tenth as fast between them. */
export function clusterOf(devices: number, changes: Partial<Cluster> = {}): Cluster {
  const network = { bytesPerSecond: 1e8, latencySeconds: 0 };
  return { devices, perMachine: 4, device, network, ...changes };
}

export const config = decoderConfig({
  ...{ vocabSize: 1024, hiddenSize: 64, intermediateSize: 256, numLayers: 2 },
  ...{ numHeads: 8, numKvHeads: 4 },
});

/** A token costs 1 ms in a batch of any size, 1 ms to train, 0.1 ms to read. */
export const parts: Parts = {
  decodeSeconds: () => 1e-3,
  readSeconds: ({ tokens }) => 1e-4 * tokens,
  forwardSeconds: ({ tokens }) => 1e-4 * tokens,
  trainSeconds: ({ tokens }) => 1e-3 * tokens,
  optimiserSeconds: () => 0.25,
  microBatchSeconds: 0,
  stepSeconds: 0.5,
};

/** Texts of 100 + 2 x 20 + 30 tokens, without any spread. */
export const workload: Workload = {
  ...{ questions: 16, samples: 4, isGenerated: true, spread: 0 },
  ...{ promptTokens: 100, searches: 1, responseTokens: 20, observationTokens: 30, searchSeconds: 2 },
  ...{ scorings: 1, hasCritic: false, hasReference: false, epochs: 1, updates: 2 },
};

/** The training of it. */
export function trainingOf(changes: Partial<PlannedTraining> = {}): PlannedTraining {
  return {
    model: {
      ...{ config, dtype: "bfloat16" as const, loraRank: 0, hasCritic: false, hasReference: false },
      batch: { tokens: 512, rows: 128 },
    },
    ...{ workload, staleness: 0, overlap: 0, checkpointEvery: 0, parts },
    ...changes,
  };
}
