/** The variables of one process of a launch: those of torchrun, and its share of the cores. */
import { availableParallelism } from "node:os";

/** Which processes a launch starts, and where they meet. */
export interface RankLayout {
  /** Processes on this machine. */
  readonly processes: number;
  readonly machines: number;
  /** From 0 on: this one's ranks follow those of the machines before it. */
  readonly machine: number;
  /** Of rank 0's machine. */
  readonly address: string;
  readonly port: number;
  /** How often all were started before. */
  readonly restarts: number;
}

/** The rank of a process of this machine. */
export function rankOf(
  { processes, machine }: Pick<RankLayout, "processes" | "machine">,
  localRank: number,
): number {
  return machine * processes + localRank;
}

/**
 * The environment of a process.
 *
 * @param layout - of the launch
 * @param localRank - from 0 on
 * @param inherited - what else it has; an OMP_NUM_THREADS in it stays
 * @returns variables by name
 */
export function rankEnvironment(
  layout: RankLayout,
  localRank: number,
  inherited: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const { processes, machines, machine, address, port, restarts } = layout;
  // libtorch takes a thread for each core otherwise, in every process.
  const numThreads = Math.max(1, Math.floor(availableParallelism() / processes));
  return {
    OMP_NUM_THREADS: String(numThreads),
    ...inherited,
    RANK: String(rankOf(layout, localRank)),
    WORLD_SIZE: String(machines * processes),
    LOCAL_RANK: String(localRank),
    LOCAL_WORLD_SIZE: String(processes),
    GROUP_RANK: String(machine),
    MASTER_ADDR: address,
    MASTER_PORT: String(port),
    TORCHELASTIC_RESTART_COUNT: String(restarts),
    TORCHELASTIC_USE_AGENT_STORE: "False",
  };
}
