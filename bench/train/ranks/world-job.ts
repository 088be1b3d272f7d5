/** Trainings on the built-in world as one process or several, for the benches of this folder. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../../../lib/base/package-root.ts";

const seekrl = join(packageRoot, "bin", "seekrl.mjs");

/** The model that imitates a hasty teacher, from which it can learn more. */
const begin = ["--model", join(packageRoot, "world", "hasty")];

/** Reinforcement learning by the world's own recipe. */
export const trainArgs = [
  ...["train", ...begin, "--recipe", "world"],
  ...["--index", "index", "--questions", "world/train.jsonl"],
];

/** Fine-tuning on what a thorough teacher wrote. */
export const sftArgs = ["sft", ...begin, "--data", "world/demonstrations.jsonl"];

/** A training on the world. */
export interface WorldJob {
  /** Holds the world's files, and the runs. */
  readonly folder: string;
  /** Of the run, below the folder. */
  readonly out: string;
  readonly processes: number;
  /** The command and its arguments, but for the run's folder. */
  readonly args: readonly string[];
}

/** How a job ended. */
export interface JobEnd {
  readonly code: number | null;
  readonly stderr: string;
}

const run = (folder: string, args: readonly string[]): string =>
  execFileSync(process.execPath, [seekrl, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
  }).toString();

/** Writes corpus, questions, demonstrations and index. */
export function writeWorld(folder: string): void {
  run(folder, ["world", "--out", "world"]);
  run(folder, ["index", "build", "--corpus", "world/corpus.jsonl", "--out", "index"]);
}

/** Exact match of a run's model over the test questions. */
export function exactMatch(folder: string, out: string): number {
  const asked = ["--index", "index", "--questions", "world/test.jsonl", "--recipe", "world", "--json"];
  return (JSON.parse(run(folder, ["eval", "--model", join(out, "model"), ...asked])) as { em: number }).em;
}

/** Starts a job; several processes by `seekrl launch`. */
export function startJob({ folder, out, processes, args }: WorldJob): {
  readonly child: ChildProcess;
  readonly end: Promise<JobEnd>;
} {
  const launch =
    processes === 1 ? [] : ["launch", "--processes", `${processes}`, "--logs", `${out}-logs`, "--"];
  const child = spawn(process.execPath, [seekrl, ...launch, ...args, "--out", out], {
    ...{ cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
  });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const end = new Promise<JobEnd>((done) => child.on("close", (code) => done({ code, stderr })));
  return { child, end };
}

/** The metrics of a run, step by step. */
export async function metricsOf(folder: string, out: string): Promise<Record<string, number>[]> {
  const text = await readFile(join(folder, out, "metrics.jsonl"), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, number>);
}
