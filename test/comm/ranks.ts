/** Runs a compiled module of the tests as the ranks of one job on this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { freePort } from "../../apps/cluster/free-port.ts";

/** What a rank has come to. */
export interface RankOutcome {
  /** What it wrote, line by line, as JSON. */
  readonly lines: readonly unknown[];
  readonly stderr: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How ranks are run. */
export interface RankOptions {
  readonly size: number;
  /** Arguments of the module, on all ranks. */
  readonly args?: readonly string[];
  /** Network namespaces in which they run, and rank 0's address there. @default all on this machine's loopback */
  readonly namespaces?: readonly string[] | undefined;
  readonly address?: string | undefined;
  /** Sees each line of any rank as it comes. */
  readonly onLine?: (rank: number, line: unknown, children: readonly ChildProcess[]) => void;
}

/**
 * Starts one process a rank, with torchrun's variables, and waits for all.
 *
 * @param module - relative to `base`
 * @param base - the caller's `import.meta.url`
 */
export async function runRanks(
  module: string,
  base: string,
  { size, args = [], onLine, namespaces = [], address = "127.0.0.1" }: RankOptions,
): Promise<RankOutcome[]> {
  const program = fileURLToPath(new URL(module, base));
  const port = await freePort();
  const place = {
    WORLD_SIZE: `${size}`,
    MASTER_ADDR: address,
    MASTER_PORT: `${port}`,
    OMP_NUM_THREADS: "1",
  };
  const children = Array.from({ length: size }, (_, rank) => {
    const within = namespaces.length === 0 ? [] : ["ip", "netns", "exec", namespaces[rank]!];
    const [command, ...rest] = [...within, process.execPath, program, ...args] as [string, ...string[]];
    return spawn(command, rest, {
      env: { ...process.env, ...place, RANK: `${rank}`, LOCAL_RANK: `${rank}`, LOCAL_WORLD_SIZE: `${size}` },
      stdio: ["ignore", "pipe", "pipe"],
    });
  });
  return Promise.all(
    children.map((child, rank) => outcomeOf(child, (line) => onLine?.(rank, line, children))),
  );
}

function outcomeOf(child: ChildProcess, onLine: (line: unknown) => void): Promise<RankOutcome> {
  const lines: unknown[] = [];
  let [text, stderr] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    const parts = text.split("\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      lines.push(JSON.parse(part));
      onLine(lines.at(-1));
    }
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((done) => child.on("close", (code, signal) => done({ lines, stderr, code, signal })));
}
