/** Runs the program as a user does. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { projectRoot } from "../project.ts";

/** What a run left behind. */
export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `seekrl` with arguments. */
export function runCli(...args: string[]): Promise<CliResult> {
  return runAndDisturb(() => {}, ...args);
}

/** Runs `seekrl` and does something to it at its first output. */
export async function runAndDisturb(
  disturb: (child: ChildProcessWithoutNullStreams) => void,
  ...args: string[]
): Promise<CliResult> {
  const child = spawn(process.execPath, [join(projectRoot, "bin", "seekrl.mjs"), ...args]);
  let [stdout, stderr] = ["", ""];
  child.stdout.once("data", () => disturb(child));
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, stdout, stderr };
}
