/** How long collectives take over rings: within machines, and between them. */
import type { Cluster, Link } from "./machine.ts";

/** Devices that pass messages round, over one kind of link. */
interface Ring {
  readonly members: number;
  readonly link: Link;
}

/** A group of devices: rings within machines, and rings of those that stand at the same place in each. */
export interface Group {
  readonly inside: Ring;
  readonly between: Ring;
}

/**
 * The group of every `stride`-th device.
 *
 * @param cluster - where they stand, machine by machine
 * @param options - `members` of the group; `stride` 1 for neighbours
 * @returns the group; what does not fill its machines evenly counts as if each device stood alone
 */
export function groupOf(
  { perMachine, device, network }: Pick<Cluster, "perMachine" | "device" | "network">,
  { members, stride = 1 }: { readonly members: number; readonly stride?: number },
): Group {
  const near = Math.min(members, Math.max(1, Math.floor(perMachine / stride)));
  const isEven = members % near === 0;
  const [inside, between] = isEven ? [near, members / near] : [1, members];
  return { inside: { members: inside, link: device.link }, between: { members: between, link: network } };
}

/** How many devices a group has. */
export function sizeOf({ inside, between }: Group): number {
  return inside.members * between.members;
}

// Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005): a ring of n passes
// (n - 1) / n of the bytes on, in n - 1 messages.
function passed(bytes: number, { members, link }: Ring): number {
  if (members === 1) return 0;
  return ((members - 1) / members) * (bytes / link.bytesPerSecond) + (members - 1) * link.latencySeconds;
}

/**
 * Seconds of an all-gather, and of a reduce-scatter, which passes the same bytes the other way: within each machine, and
 * between machines for the part of them that each device of a machine has.
 *
 * @param bytes - of the whole
 * @param group - who takes part
 * @returns seconds; 0 for a group of one
 */
export function gatherSeconds(bytes: number, { inside, between }: Group): number {
  return passed(bytes, inside) + passed(bytes / inside.members, between);
}

/**
 * Seconds of a sum that devices make in pairs, then in pairs of pairs, so that its order depends on nothing (`tree_reduce`
 * of native/comm): in each round every device sends all of it to one other.
 *
 * @param bytes - of what each device has
 * @param group - who takes part; a power of two
 * @returns seconds; 0 for a group of one
 */
export function pairSumSeconds(bytes: number, { inside, between }: Group): number {
  const rounds = ({ members, link }: Ring): number =>
    Math.log2(members) * (bytes / link.bytesPerSecond + link.latencySeconds);
  return rounds(inside) + rounds(between);
}

/**
 * Seconds of a broadcast, passed on in pieces so that all links work at once.
 *
 * @param bytes - that every device of the group gets
 * @param group - who takes part
 * @returns seconds; 0 for a group of one
 */
export function broadcastSeconds(bytes: number, { inside, between }: Group): number {
  const chained = (size: number, { members, link }: Ring): number =>
    members === 1 ? 0 : size / link.bytesPerSecond + (members - 1) * link.latencySeconds;
  // Each device of a machine takes its part from the network, and hands it to the others.
  return chained(bytes / inside.members, between) + chained(bytes, inside);
}
