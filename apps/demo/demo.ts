/** The whole loop in one command: a world, its index, a teacher to imitate, RL in both modes, evaluation, controls. */
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/base/files/files.ts";
import { lockFolder } from "../../lib/base/files/folder-lock.ts";
import { packageRoot } from "../../lib/base/package-root.ts";
import { openLocalPolicy } from "../../lib/engine/local-policy.ts";
import type { LoraOptions } from "../../lib/model/adapter.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import type { QueryMode } from "../../lib/text/observation.ts";
import { kHastyHabits, kThoroughHabits } from "../world/recipes/patchy-teaching.ts";
import { patchyWorldRecipe } from "../world/recipes/patchy-world.ts";
import { chartOf, curveOf, type RewardCurve, sparkline } from "./curve.ts";
import type { HeldOut } from "./held-out.ts";
import { evaluateModes, type ImitateOptions, imitate } from "./imitation.ts";
import { reinforce } from "./reinforce.ts";
import { type DemoSummary, figuresLine, type ModeResult, stepLine, summarize, tableOf } from "./report.ts";
import { chooseTraces } from "./traces.ts";
import { trainWorldModel, worldSft } from "./world-model.ts";
import { type OpenWorld, openWorld } from "./world-search.ts";

/** How to run the demo. */
interface DemoOptions {
  /** Logs, models, traces, `reward.svg` and `summary.json` go here. */
  readonly out: string;
  /** Of the world, the demonstrations, the questions' order and every sampled token. @default 0 */
  readonly seed?: number;
  /** A few steps and questions: shows that everything works, not that it learns. @default false */
  readonly quick?: boolean;
  /** @default those of a full or a quick demo */
  readonly sizes?: DemoSizes;
  /** Shows the start a thorough teacher's demonstrations too, to compare with. @default false */
  readonly compare?: boolean;
  /** Trains the shipped start model anew, from nothing, in place of taking it. @default false */
  readonly fromScratch?: boolean;
  /** Trains adapters in place of the weights. @default none */
  readonly lora?: LoraOptions | undefined;
  /** Where tensors live: `cpu`, or `cuda` in a CUDA build. @default "cpu" */
  readonly device?: string;
  /** Progress, a line at a time. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** What the demo found. */
interface DemoResult {
  readonly summary: DemoSummary;
  readonly table: string;
  /** The reward of each step as one line of text for each mode. */
  readonly curves: string;
  /** Title and text of conversations. */
  readonly traces: readonly (readonly [string, string])[];
  /** The command that asks the model trained with parallel queries. */
  readonly ask: string;
}

/** How much of everything is done. */
export interface DemoSizes {
  /** Steps of SFT by which the start model learns to read behind a search with gaps, */
  readonly reading: number;
  /** by which it learns its teacher's habits, */
  readonly start: number;
  /** and by which a thorough teacher mends them. */
  readonly thorough: number;
  /** Of one step of SFT. */
  readonly demonstrations: number;
  /** Steps of SFT by which a base model is made from nothing. */
  readonly worldModel: number;
  /** What differs from the recipe. */
  readonly training: Partial<Recipe["training"]>;
  /** Held-out questions. @default all */
  readonly numTest?: number;
}

const { batchSize: demonstrations, steps: worldModel } = worldSft;
const fullSizes: DemoSizes = {
  ...{ reading: 500, start: 150, thorough: 100, demonstrations, worldModel },
  training: {},
};

const quickSizes: DemoSizes = {
  ...{ reading: 2, start: 2, thorough: 2, demonstrations, worldModel: 30 },
  training: { steps: 2, batchQuestions: 8 },
  numTest: 16,
};

const modes = ["single", "multi"] as const;

/** The shipped model's folder. */
export const worldCheckpoint = join(packageRoot, "world", "checkpoint");

/** The folder of the shipped model that imitates the hasty teacher. */
const hastyCheckpoint = join(packageRoot, "world", "hasty");

/**
 * Trains a model that imitates a hasty teacher by PPO, once with one query a turn and once with parallel queries.
 * Beside it stand the control, which goes on imitating the same teacher over as many samples as both trainings roll out, and
 * with `compare` a model that imitates a thorough teacher. All are evaluated on the same held-out questions.
 *
 * @param options - output folder, seed, size
 * @returns figures, table, curves and traces, which also stand in the output folder
 * @throws ERR_ABORTED when the signal fires; ERR_IO when the folder cannot be written
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const { out, seed = 0, signal, onLine = () => {} } = options;
  using _lock = await lockFolder(out);
  using opened = await openWorld(out, { seed, signal });
  const { world } = opened;
  onLine(`world: ${world.passages.length} passages, ${world.questions.train.length} training questions`);
  const run = planOf(options, opened);
  const start = options.fromScratch ? await trainStart(options, run) : hastyCheckpoint;
  const single = await trainMode("single", start, run);
  const multi = await trainMode("multi", start, run);
  const compared = await imitateFurther(start, run);
  return report({ single, multi }, compared, run);
}

/** What every part of a demo needs. */
interface DemoRun extends ImitateOptions {
  readonly opened: OpenWorld;
  readonly sizes: DemoSizes;
  readonly compare: boolean;
  readonly lora: LoraOptions | undefined;
  readonly recipes: Readonly<Record<QueryMode, Recipe>>;
  readonly numTest: number | undefined;
}

function planOf(options: DemoOptions, opened: OpenWorld): DemoRun {
  const { out, seed = 0, quick = false, fromScratch = false, compare = false, device = "cpu" } = options;
  const { lora, signal, onLine = () => {}, sizes = quick ? quickSizes : fullSizes } = options;
  const recipeOf = (queries: QueryMode): Recipe => {
    const recipe = patchyWorldRecipe({ queries });
    return { ...recipe, training: { ...recipe.training, ...sizes.training } };
  };
  // What was trained before a kill is not trained again; another seed, size or start has its own folders.
  const suffix = `seed-${seed}${quick ? "-quick" : ""}${fromScratch ? "-from-scratch" : ""}`;
  return {
    ...{ out, suffix, seed, device, opened, compare, lora, signal, onLine },
    recipes: { single: recipeOf("single"), multi: recipeOf("multi") },
    ...{ sizes, demonstrations: sizes.demonstrations, numTest: sizes.numTest },
  };
}

/** How the shipped start model was made: reading is learnt first, habits last. */
async function trainStart(options: DemoOptions, run: DemoRun): Promise<string> {
  const { reading, start } = run.sizes;
  return imitate(run, {
    ...{ name: "start", from: await baseModel(options, run), habits: kHastyHabits },
    ...{ steps: reading + start, carefulShare: reading / (reading + start) },
  });
}

async function baseModel(options: DemoOptions, { onLine, sizes }: DemoRun): Promise<string> {
  const { out, seed = 0, device = "cpu", signal } = options;
  const folder = join(out, `base-seed-${seed}`);
  const steps = sizes.worldModel;
  let tokens = 0;
  const started = performance.now();
  await trainWorldModel({
    ...{ folder, seed, steps, device },
    signal,
    onStep: (metrics) => {
      tokens += metrics.tokens;
      if (metrics.step % 50 !== 0 && metrics.step !== steps) return;
      const rate = Math.round((tokens / (performance.now() - started)) * 1000);
      onLine(`base ${metrics.step}/${steps}  loss ${metrics.loss.toFixed(3)}  ${rate} tokens/s`);
    },
  });
  return folder;
}

async function trainMode(mode: QueryMode, start: string, run: DemoRun): Promise<ModeResult> {
  const { opened, seed, device, lora, numTest, signal, onLine } = run;
  const recipe = run.recipes[mode];
  const folder = modeFolder(mode, run);
  await using policy = await openLocalPolicy({ model: start, device, lora, seed }, { seed });
  return await reinforce(policy, {
    ...{ recipe, folder, seed, numTest, signal, world: opened.world, search: opened.search },
    worldSetting: { seed, queries: mode, search: "patchy" },
    onEvaluation: (moment, result) => onLine(`${mode} ${moment} RL  ${figuresLine(result)}`),
    onStep: (metrics) => onLine(`${mode} ${stepLine(metrics, recipe.training.steps)}`),
  });
}

function modeFolder(mode: QueryMode, { out, suffix, lora }: DemoRun): string {
  return join(out, `${mode}-${suffix}${lora === undefined ? "" : "-lora"}`);
}

/** Models that differ from the start by imitation only. */
interface Compared {
  readonly control: Readonly<Record<QueryMode, HeldOut>>;
  readonly thorough: Readonly<Record<QueryMode, HeldOut>> | undefined;
  readonly samples: number;
}

async function imitateFurther(start: string, run: DemoRun): Promise<Compared> {
  const played = modes.map((mode) => {
    const { steps, batchQuestions, samples } = run.recipes[mode].training;
    return steps * batchQuestions * samples;
  });
  const samples = played.reduce((sum, count) => sum + count, 0);
  const common = { from: start, firstBatch: run.sizes.reading + run.sizes.start };
  const control = await imitate(run, {
    ...{ ...common, name: "control", habits: kHastyHabits },
    steps: Math.ceil(samples / run.sizes.demonstrations),
  });
  const evaluated = { control: await evaluateModes("control", control, run), samples };
  if (!run.compare) return { ...evaluated, thorough: undefined };
  const thorough = await imitate(run, {
    ...{ ...common, name: "thorough", habits: kThoroughHabits },
    steps: run.sizes.thorough,
  });
  return { ...evaluated, thorough: await evaluateModes("thorough", thorough, run) };
}

async function report(
  results: Readonly<Record<QueryMode, ModeResult>>,
  { control, thorough, samples }: Compared,
  run: DemoRun,
): Promise<DemoResult> {
  const { out, seed, opened } = run;
  const counts = { seed, samples, thoroughSamples: run.sizes.thorough * run.sizes.demonstrations };
  const summary = summarize({ ...results, control, thorough }, counts);
  const questions = opened.world.questions.test;
  const traces = chooseTraces(results, { questions, facts: opened.world.facts.test });
  const curve = async (mode: QueryMode): Promise<RewardCurve> => ({
    ...{ mode, rewards: await curveOf(modeFolder(mode, run)) },
    control: control[mode].em,
  });
  const curves = [await curve("single"), await curve("multi")];
  await writeFileAtomic(join(out, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
  await writeFileAtomic(join(out, "reward.svg"), chartOf(curves));
  const text = traces.map(([title, trace]) => `# ${title}\n\n${trace}\n`).join("\n");
  await writeFileAtomic(join(out, "traces.txt"), text);
  const { question = "" } = results.multi.after.perQuestion[0] ?? {};
  return {
    ...{ summary, table: tableOf(summary), traces, curves: curves.map(sparkline).join("\n") },
    ask: `npx seekrl ask "${question}" --model ${modeFolder("multi", run)} --index ${join(out, "index")}`,
  };
}
