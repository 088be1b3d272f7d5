/** The whole loop in one command: a world, its index, a start model, RL in both modes, evaluation. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../base/files.ts";
import { packageRoot } from "../base/package-root.ts";
import type { Evaluation } from "../evaluate/evaluate.ts";
import { buildIndex } from "../index-folder/build.ts";
import { openIndex } from "../index-folder/open.ts";
import { worldRecipe } from "../recipes/world.ts";
import { batched } from "../search/batched.ts";
import type { QueryMode } from "../text/observation.ts";
import { createWorld } from "../world/world.ts";
import { type ModeResult, type ReinforceOptions, reinforce } from "./reinforce.ts";
import { chooseTraces, type DemoSummary, summarize, tableOf } from "./report.ts";
import { trainWorldModel, worldSft } from "./world-model.ts";

/** How to run the demo. */
export interface DemoOptions {
  /** Logs, models, traces and `summary.json` go here. */
  readonly out: string;
  /** Of the world, the questions' order and every sampled token. @default 0 */
  readonly seed?: number;
  /** A few steps and questions: shows that everything works, not that it learns. @default false */
  readonly quick?: boolean;
  /** Trains the start model instead of taking the shipped one. @default false */
  readonly fromScratch?: boolean;
  /** Where tensors live: `cpu`, or `cuda` in a CUDA build. @default "cpu" */
  readonly device?: string;
  /** Progress, a line at a time. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** What the demo found. */
export interface DemoResult {
  readonly summary: DemoSummary;
  readonly table: string;
  /** Title and text of three conversations. */
  readonly traces: readonly (readonly [string, string])[];
}

const quickSizes = { sftSteps: 30, rlSteps: 4, numTest: 64 };

/**
 * How long a search gathers queries of other trajectories. A retrieval service answers in tens of milliseconds; a
 * thousand passages in this process take a tenth of one, and a round of retrieval would cost almost nothing. Nothing is
 * cached, or the mode that is evaluated last would look faster.
 */
const searchWindowMs = 10;

/** The shipped start model's folder. */
export const worldCheckpoint = join(packageRoot, "world", "checkpoint");

/**
 * Evaluates the start model on held-out questions, trains it by PPO once with one query a turn and once with parallel
 * queries, and evaluates again.
 *
 * @param options - output folder, seed, size
 * @returns figures, table and traces, which also stand in the output folder
 * @throws ERR_ABORTED when the signal fires; ERR_IO when the folder cannot be written
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const { out, seed = 0, quick = false, fromScratch = false, device = "cpu" } = options;
  const { signal, onLine = () => {} } = options;
  await mkdir(out, { recursive: true });
  const world = createWorld({ seed });
  onLine(`world: ${world.passages.length} passages, ${world.questions.train.length} training questions`);
  const start = await startModel(options, onLine);
  const folder = join(out, "index");
  await buildIndex({
    ...{ corpus: world.passages, out: folder, bm25: false, dense: { kind: "hnsw" } },
    ...(signal ? { signal } : {}),
  });
  const index = await openIndex(folder);
  try {
    const common = {
      ...{ start, world, search: batched(index, { windowMs: searchWindowMs, maxCached: 0 }), seed, device },
      ...(quick ? { steps: quickSizes.rlSteps, numTest: quickSizes.numTest } : {}),
      ...(signal ? { signal } : {}),
    };
    // A mode that was trained before a kill is not trained again; another seed, size or start has its own folders.
    const name = `seed-${seed}${quick ? "-quick" : ""}${fromScratch ? "-from-scratch" : ""}`;
    const single = await runMode("single", join(out, `single-${name}`), common, onLine);
    const multi = await runMode("multi", join(out, `multi-${name}`), common, onLine);
    return await report(out, { single, multi });
  } finally {
    index.close();
  }
}

async function startModel(options: DemoOptions, onLine: (line: string) => void): Promise<string> {
  const { out, seed = 0, quick = false, fromScratch = false, device = "cpu", signal } = options;
  if (!fromScratch) return worldCheckpoint;
  const folder = join(out, `start-seed-${seed}`);
  const steps = quick ? quickSizes.sftSteps : worldSft.steps;
  let tokens = 0;
  const started = performance.now();
  await trainWorldModel({
    ...{ folder, seed, steps, device },
    ...(signal ? { signal } : {}),
    onStep: (metrics) => {
      tokens += metrics.tokens;
      if (metrics.step % 50 !== 0 && metrics.step !== steps) return;
      const rate = Math.round((tokens / (performance.now() - started)) * 1000);
      onLine(`sft ${metrics.step}/${steps}  loss ${metrics.loss.toFixed(3)}  ${rate} tokens/s`);
    },
  });
  return folder;
}

function evaluationLine(
  mode: QueryMode,
  moment: string,
  { em, rounds, secondsPerQuestion }: Evaluation,
): string {
  const time = (1000 * secondsPerQuestion).toFixed(1);
  return `${mode} ${moment}  EM ${(100 * em).toFixed(1)}%  rounds ${rounds.toFixed(2)}  ${time} ms/question`;
}

async function runMode(
  mode: QueryMode,
  folder: string,
  common: Omit<ReinforceOptions, "mode" | "folder">,
  onLine: (line: string) => void,
): Promise<ModeResult> {
  const steps = common.steps ?? worldRecipe({ queries: mode }).training.steps;
  return reinforce({
    ...common,
    ...{ mode, folder },
    onEvaluation: (moment, result) => onLine(evaluationLine(mode, moment, result)),
    onStep: (metrics) => {
      const show = (name: string, digits: number): string => (metrics[name] ?? 0).toFixed(digits);
      const seconds = (metrics["seconds/rollout"] ?? 0) + (metrics["seconds/train"] ?? 0);
      const figures = `reward ${show("reward/mean", 3)}  rounds ${show("search/rounds", 2)}  kl ${show("policy/kl_reference", 4)}`;
      onLine(`${mode} ${metrics.step}/${steps}  ${figures}  ${seconds.toFixed(1)} s`);
    },
  });
}

async function report(out: string, results: Readonly<Record<QueryMode, ModeResult>>): Promise<DemoResult> {
  const summary = summarize(results);
  const traces = chooseTraces(results);
  await writeFileAtomic(join(out, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
  const text = traces.map(([title, trace]) => `# ${title}\n\n${trace}\n`).join("\n");
  await writeFileAtomic(join(out, "traces.txt"), text);
  return { summary, table: tableOf(summary), traces };
}
