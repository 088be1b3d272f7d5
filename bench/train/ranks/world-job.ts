/** `seekrl train` on the built-in world as one process or several, for the benches of this folder. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../../../lib/base/package-root.ts";

const seekrl = join(packageRoot, "bin", "seekrl.mjs");

/** A training on the world. */
export interface WorldJob {
  /** Holds the world's files, and the runs. */
  readonly folder: string;
  /** Of the run, below the folder. */
  readonly out: string;
  readonly processes: number;
  /** Further arguments of `train`. */
  readonly args: readonly string[];
}

/** How a job ended. */
export interface JobEnd {
  readonly code: number | null;
  readonly stderr: string;
}

/** Writes corpus, questions and index. */
export function writeWorld(folder: string): void {
  const run = (...args: string[]): void => {
    execFileSync(process.execPath, [seekrl, ...args], { cwd: folder, stdio: "ignore" });
  };
  run("world", "--out", "world", "--demonstrations", "1");
  run("index", "build", "--corpus", "world/corpus.jsonl", "--out", "index");
}

/** Starts a job; several processes by `seekrl launch`. */
export function startJob({ folder, out, processes, args }: WorldJob): {
  readonly child: ChildProcess;
  readonly end: Promise<JobEnd>;
} {
  const model = join(packageRoot, "world", "checkpoint");
  const train = ["train", "--model", model, "--index", "index", "--questions", "world/train.jsonl"];
  const launch =
    processes === 1 ? [] : ["launch", "--processes", `${processes}`, "--logs", `${out}-logs`, "--"];
  const child = spawn(process.execPath, [seekrl, ...launch, ...train, "--out", out, ...args], {
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
