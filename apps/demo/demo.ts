/** The whole loop in one command: a world, its index, a start model, RL in both modes, evaluation. */
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/base/files/files.ts";
import { lockFolder } from "../../lib/base/files/folder-lock.ts";
import { packageRoot } from "../../lib/base/package-root.ts";
import type { Evaluation } from "../../lib/evaluate/evaluate.ts";
import type { QueryMode } from "../../lib/text/observation.ts";
import { worldRecipe } from "../world/recipes/world.ts";
import { openPlayer } from "./player.ts";
import { type ReinforceOptions, reinforce } from "./reinforce.ts";
import { chooseTraces, type DemoSummary, type ModeResult, stepLine, summarize, tableOf } from "./report.ts";
import { trainWorldModel, worldSft } from "./world-model.ts";
import { openWorld } from "./world-search.ts";

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

/** One after the other, as one user waits: the time per question is then RAG-R1's own measure. */
const concurrency = 1;

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
  using _lock = await lockFolder(out);
  using opened = await openWorld(out, { seed, signal });
  const { world, search } = opened;
  onLine(`world: ${world.passages.length} passages, ${world.questions.train.length} training questions`);
  const start = await startModel(options, onLine);
  const numTest = quick ? quickSizes.numTest : undefined;
  const common = { ...{ start, device, quick }, ...{ world, search, seed, numTest, concurrency, signal } };
  // A mode that was trained before a kill is not trained again; another seed, size or start has its own folders.
  const name = `seed-${seed}${quick ? "-quick" : ""}${fromScratch ? "-from-scratch" : ""}`;
  const single = await runMode("single", join(out, `single-${name}`), common, onLine);
  const multi = await runMode("multi", join(out, `multi-${name}`), common, onLine);
  return report(out, { single, multi });
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
    signal,
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

type Common = Omit<ReinforceOptions, "recipe" | "folder"> & {
  readonly start: string;
  readonly device: string;
  readonly quick: boolean;
};

async function runMode(
  mode: QueryMode,
  folder: string,
  { start, device, quick, ...common }: Common,
  onLine: (line: string) => void,
): Promise<ModeResult> {
  const recipe = worldRecipe({ queries: mode });
  const steps = quick ? quickSizes.rlSteps : recipe.training.steps;
  await using player = await openPlayer(start, { seed: common.seed, device });
  return await reinforce(player, {
    ...common,
    ...{ recipe: { ...recipe, training: { ...recipe.training, steps } }, folder },
    onEvaluation: (moment, result) => onLine(evaluationLine(mode, moment, result)),
    onStep: (metrics) => onLine(`${mode} ${stepLine(metrics, steps)}`),
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
