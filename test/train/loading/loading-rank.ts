/**
 * One rank that opens learners on a model that it loads: `node loading-rank.js OPTIONS`, with torchrun's variables. It tells
 * the memory that this took at most and takes afterwards, and a digest of all weights once they are gathered.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { native } from "../../../lib/base/addon/native.ts";
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { Model } from "../../../lib/model/model.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { projectRoot } from "../../project.ts";
import { digestOf } from "./digest.ts";

/** What the rank opens. */
export interface LoadingTask {
  readonly folder: string;
  readonly dtype?: Model["dtype"];
  /** @default true */
  readonly isDeferred?: boolean;
  readonly hasCritic?: boolean;
  /** Whose weights replace those of `folder`, as a checkpoint's do. */
  readonly resumed?: string;
  /** Where the policy is written to, as for a checkpoint. */
  readonly saved?: string;
  /** Tells the digest. */
  readonly isTold?: boolean;
}

/** What it tells: bytes beyond those before, and digests of policy and critic. */
export interface Loaded {
  readonly peak: number;
  readonly held: number;
  readonly digests: readonly string[];
}

/** `VmHWM`, the most that was resident, or `VmRSS`. */
function residentBytes(name: "VmHWM" | "VmRSS"): number {
  const [, kilobytes] =
    new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

const { RANK, WORLD_SIZE, MASTER_PORT } = process.env;
const task = JSON.parse(process.argv[2]!) as LoadingTask;
const { folder, dtype = "float32", isDeferred = true, hasCritic = false } = task;
const { resumed, saved, isTold = false } = task;
await using processGroup = await ProcessGroup.open({
  ...{ rank: Number(RANK), size: Number(WORLD_SIZE), port: Number(MASTER_PORT), patienceMs: 4000 },
});
await native().setNumThreads(1);
// What a first load takes once, whatever the model.
(await Model.load(join(projectRoot, "test", "golden", "model", "qwen2"))).close();
writeFileSync("/proc/self/clear_refs", "5"); // the peak so far is forgotten
const before = residentBytes("VmRSS");
try {
  await using model = await Model.load(folder, { dtype, isDeferred });
  const options = { processGroup, zero: 3 } as const;
  await using critic = hasCritic ? await Critic.open(model, options) : undefined;
  await using trainer = await Trainer.open(model, options);
  const learners = critic === undefined ? [trainer] : [trainer, critic];
  for (const learner of learners) if (resumed !== undefined) await learner.readWeights(resumed);
  if (saved !== undefined) await trainer.saveWeights(saved);
  const [peak, held] = [residentBytes("VmHWM") - before, residentBytes("VmRSS") - before];
  for (const learner of isTold ? learners : []) await learner.gatherWeights();
  const models = [model, ...(critic === undefined ? [] : [critic.trunk as Model])];
  const digests = isTold ? await Promise.all(models.map(digestOf)) : [];
  process.stdout.write(`${JSON.stringify({ peak, held, digests })}\n`);
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  process.stdout.write(`${JSON.stringify({ code, message })}\n`);
  process.exitCode = 1;
}
