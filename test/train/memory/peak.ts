/**
 * A program that loads or trains a model and says its memory: `node peak.js '{"folder": ...}'`. A process of its own,
 * since the system counts a peak once for the whole process.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { native } from "../../../lib/base/addon/native.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Model } from "../../../lib/model/model.ts";
import type { LearnerOptions } from "../../../lib/train/learner/learner-options.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { projectRoot } from "../../project.ts";

/** What the program does: loads the folder, and trains two steps of one sequence where there are tokens. */
export interface PeakTask {
  readonly folder: string;
  readonly dtype: Model["dtype"];
  readonly options?: LearnerOptions;
  /** How the weights are quantised. */
  readonly weights?: Model["weights"];
  /** Rank of an adapter that is trained in their place. */
  readonly rank?: number;
  readonly tokens?: number;
  readonly rows?: number;
}

/** Bytes: when the native core is there, and at most. */
export interface Peak {
  readonly before: number;
  readonly peak: number;
}

/** Runs the program. */
export async function measurePeak(task: PeakTask): Promise<Peak> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(task)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return JSON.parse(output) as Peak;
}

async function train(
  model: Model,
  { options, rank, tokens: length = 0, rows: numRows = 0 }: PeakTask,
): Promise<void> {
  const tokens = Int32Array.from({ length }, (_, t) => (t * 31) % model.config.vocabSize);
  const rows = Int32Array.from({ length: numRows }, (_, r) => length - 1 - numRows + r);
  const weights = new Float32Array(numRows).fill(1 / numRows);
  const policy = rank === undefined ? model : await Adapter.create(model, { rank });
  await using trainer = await Trainer.open(policy, options);
  for (let step = 0; step < 2; step += 1) {
    await trainer.accumulate([{ tokens, rows, weights }]);
    await trainer.step({ learningRate: 1e-4 });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const task = JSON.parse(process.argv[2]!) as PeakTask;
  await native().setNumThreads(2);
  // What a first load takes once, whatever the model.
  (await Model.load(join(projectRoot, "test", "golden", "model", "qwen2"))).close();
  const before = process.memoryUsage.rss();
  await using model = await Model.load(task.folder, { dtype: task.dtype, weights: task.weights });
  if (task.tokens !== undefined) await train(model, task);
  const peak = process.resourceUsage().maxRSS * 1024;
  process.stdout.write(JSON.stringify({ before, peak }));
}
