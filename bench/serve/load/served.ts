/** `seekrl serve` in a process of its own, and its figures. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../../..");

/** The shipped model of the built-in world. */
export const worldModel = join(root, "world", "checkpoint");

/** Reads one figure by how its line begins; 0 where there is none. */
export type Figures = (line: string) => number;

/** Lines of `/metrics`. */
export const lines = {
  loopP99: 'seekrl_event_loop_delay_seconds{quantile="0.99"} ',
  loopMax: 'seekrl_event_loop_delay_seconds{quantile="1"} ',
  cpu: "process_cpu_seconds_total ",
  rss: "process_resident_memory_bytes ",
  sampled: "seekrl_engine_sampled_tokens_total ",
  running: "seekrl_requests_running ",
  waiting: "seekrl_requests_waiting ",
  sequences: "seekrl_sequences_open ",
  usedBlocks: "seekrl_cache_blocks_used ",
} as const;

/** A server of a model. */
export interface Served extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly url: URL;
}

/** Starts one on a free port of this machine. */
export async function serve(model: string, ...args: readonly string[]): Promise<Served> {
  const command = [join(root, "bin", "seekrl.mjs"), "serve", "--model", model, "--name", "m", "--port", "0"];
  // With this process' own options, so that `node --cpu-prof` is told of the server too.
  const all = [...process.execArgv, ...command, ...args];
  const child = spawn(process.execPath, all, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = new URL(String(line).trim().split(" at ")[1] ?? "");
  return {
    ...{ child, url },
    [Symbol.asyncDispose]: async () => {
      const closed = once(child, "exit");
      child.kill("SIGTERM");
      await closed;
    },
  };
}

/** What a server says of itself; the event loop's figures are those since the last look. */
export async function figuresOf({ url }: Pick<Served, "url">): Promise<Figures> {
  const text = await (await fetch(new URL("/metrics", url))).text();
  const all = text.split("\n");
  return (line) => Number(all.find((each) => each.startsWith(line))?.slice(line.length) ?? 0);
}

/** Waits until nothing runs, waits or holds memory. @returns what is left after so many seconds; empty when nothing is */
export async function leftovers(served: Served, seconds = 10): Promise<Record<string, number>> {
  const end = performance.now() + 1000 * seconds;
  for (;;) {
    const figure = await figuresOf(served);
    const held = ["running", "waiting", "sequences", "usedBlocks"] as const;
    const left = held.map((key) => [key, figure(lines[key])] as const).filter(([, value]) => value > 0);
    if (left.length === 0 || performance.now() > end) return Object.fromEntries(left);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The middle one of a sample. */
export function median(sample: readonly number[]): number {
  return [...sample].sort((a, b) => a - b)[Math.floor(sample.length / 2)] ?? Number.NaN;
}

/** The value that a share of the sample lies below. */
export function quantile(sample: readonly number[], share: number): number {
  return [...sample].sort((a, b) => a - b)[Math.floor(sample.length * share)] ?? Number.NaN;
}
