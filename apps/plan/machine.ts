/** What a training runs on: devices, what they reach, and the links between them. */

/** A link as each device has it, one direction at a time. */
export interface Link {
  readonly bytesPerSecond: number;
  /** Of one message. */
  readonly latencySeconds: number;
}

/** A device: what products and copies reach on it, which is less than its data sheet says. */
export interface Device {
  /** Of bf16 products, a second. */
  readonly flops: number;
  /** Of its memory. */
  readonly bytesPerSecond: number;
  readonly memoryBytes: number;
  /** To the others of its machine. */
  readonly link: Link;
}

/** Devices of one kind in machines of one size. */
export interface Cluster {
  readonly devices: number;
  /** Devices that a machine has room for; fewer than these stand in one. */
  readonly perMachine: number;
  readonly device: Device;
  /** Between machines, as each device has it. */
  readonly network: Link;
}

/**
 * Dense bf16 TFLOP/s, memory TB/s, GB, and GB/s to the other GPUs of a machine, one direction.
 * Source: NVIDIA's data sheets of A100 80GB SXM, L40S (PCIe 4 x16), H100 SXM, H200 SXM and B200 (HGX).
 */
const dataSheets = {
  a100: [312, 2.04, 80, 300],
  l40s: [362, 0.864, 48, 32],
  h100: [989, 3.35, 80, 450],
  h200: [989, 4.8, 141, 450],
  b200: [2250, 8, 180, 900],
} as const;

/** Names of GPUs. */
export type GpuName = keyof typeof dataSheets;

/** @see GpuName */
export const gpuNames = Object.keys(dataSheets) as GpuName[];

/** What is reached of a data sheet's figures: on an H200 790 of 989 TFLOP/s and 4.3 of 4.8 TB/s were seen. */
export const reached = { flops: 0.8, memory: 0.9, link: 0.8 } as const;

/** Seconds that a message takes to the next device of a ring. */
export const latencies = { machine: 3e-6, network: 12e-6 } as const;

/**
 * A GPU by its data sheet.
 *
 * @param name - of the GPU
 * @returns the device, at what is reached of it
 */
export function gpuOf(name: GpuName): Device {
  const [teraflops, terabytes, gigabytes, linkGigabytes] = dataSheets[name];
  return {
    flops: teraflops * 1e12 * reached.flops,
    bytesPerSecond: terabytes * 1e12 * reached.memory,
    memoryBytes: gigabytes * 1e9,
    link: { bytesPerSecond: linkGigabytes * 1e9 * reached.link, latencySeconds: latencies.machine },
  };
}

/**
 * The network between machines.
 *
 * @param gigabits - of each GPU, a second
 * @returns the link, at what is reached of it
 */
export function networkOf(gigabits: number): Link {
  return { bytesPerSecond: (gigabits / 8) * 1e9 * reached.link, latencySeconds: latencies.network };
}
