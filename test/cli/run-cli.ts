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

type Disturb = (child: ChildProcessWithoutNullStreams) => void;

/** Runs `seekrl` with arguments. */
export function runCli(...args: string[]): Promise<CliResult> {
  return start(args);
}

/** Runs `seekrl` in another working directory. */
export function runCliIn(cwd: string, ...args: string[]): Promise<CliResult> {
  return start(args, { cwd });
}

/** Runs `seekrl` with other variables of the environment too. */
export function runCliWith(
  environment: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<CliResult> {
  return start(args, { environment });
}

/** Runs `seekrl` and does something to it at its first output. */
export function runAndDisturb(disturb: Disturb, ...args: string[]): Promise<CliResult> {
  return start(args, { disturb });
}

interface StartOptions {
  readonly cwd?: string;
  readonly disturb?: Disturb;
  readonly environment?: Readonly<Record<string, string>>;
}

async function start(
  args: readonly string[],
  { cwd, disturb = () => {}, environment = {} }: StartOptions = {},
): Promise<CliResult> {
  const child = spawn(process.execPath, [join(projectRoot, "bin", "seekrl.mjs"), ...args], {
    cwd,
    env: { ...process.env, ...environment },
  });
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
