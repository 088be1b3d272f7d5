/** Runs the program as a process of its own, where that is what is tested: signals, kills, pipes, what it loads. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { projectRoot } from "../project.ts";
import type { CliResult } from "./run-cli.ts";

type Disturb = (child: ChildProcessWithoutNullStreams) => void;

/** Starts `seekrl` with arguments, and other variables of the environment too. */
export function startCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ChildProcessWithoutNullStreams {
  const program = join(projectRoot, "bin", "seekrl.mjs");
  return spawn(process.execPath, [program, ...args], { env: { ...process.env, ...env } });
}

/** What a process says until it ends. */
export async function resultOf(child: ChildProcessWithoutNullStreams): Promise<CliResult> {
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, stdout, stderr };
}

/** Runs `seekrl` with arguments. */
export function spawnCli(...args: string[]): Promise<CliResult> {
  return resultOf(startCli(args));
}

/** Runs `seekrl` and does something to it at its first output. */
export function spawnAndDisturb(disturb: Disturb, ...args: string[]): Promise<CliResult> {
  const child = startCli(args);
  child.stdout.once("data", () => disturb(child));
  return resultOf(child);
}
