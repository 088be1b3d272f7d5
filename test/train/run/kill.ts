/** Runs a program and kills it without warning once it has said enough. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Runs a compiled module beside the tests; SIGKILL when it prints `lastLine`, or at the end of its own accord. */
export async function runAndKill(
  module: string,
  folder: string,
  lastLine: string,
  ...more: string[]
): Promise<void> {
  const program = fileURLToPath(new URL(module, import.meta.url));
  const child = spawn(process.execPath, [program, folder, ...more], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    if (text.split("\n").includes(lastLine)) child.kill("SIGKILL");
  });
  await new Promise((resolve) => child.on("close", resolve));
}

/** A folder that is gone after the test. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-train-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const unsteady = /^(seconds|process)\//;

/** Metrics without what the clock says. */
export function withoutClock(metrics: object): object {
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => !unsteady.test(name)));
}

/** The metrics of a run, without the clock. */
export async function steadyMetrics(folder: string): Promise<object[]> {
  const text = await readFile(join(folder, "metrics.jsonl"), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => withoutClock(JSON.parse(line) as object));
}
