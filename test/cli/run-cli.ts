/** Runs the program as a user does. */
import { spawn } from "node:child_process";
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
  return runAndInterrupt({ interrupt: false }, ...args);
}

/** Runs `seekrl` and, where asked to, presses Ctrl-C at its first output. */
export async function runAndInterrupt(
  { interrupt }: { readonly interrupt: boolean },
  ...args: string[]
): Promise<CliResult> {
  const child = spawn(process.execPath, [join(projectRoot, "bin", "seekrl.mjs"), ...args]);
  let [stdout, stderr] = ["", ""];
  if (interrupt) child.stdout.once("data", () => child.kill("SIGINT"));
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, stdout, stderr };
}
