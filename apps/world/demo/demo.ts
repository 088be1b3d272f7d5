/** The whole loop in one command: a world, its index, a teacher to imitate, RL in both modes, evaluation, controls. */
import { join } from "node:path";
import { writeFileAtomic } from "../../../lib/base/files/files.ts";
import { lockFolder } from "../../../lib/base/files/folder-lock.ts";
import { packageRoot } from "../../../lib/base/package-root.ts";
import type { LoraOptions } from "../../../lib/model/form/lora-options.ts";
import type { QueryMode } from "../../../lib/text/observation.ts";
import { kGuessingHabits, kReadingHabits } from "../recipes/patchy-teaching.ts";
import { imitate } from "./imitation.ts";
import { runParts } from "./parts/part-processes.ts";
import { type DemoPlan, type DemoSizes, modeFolder, numRollouts, numSteps } from "./parts/parts.ts";
import { chartOf, curveOf, type RewardCurve, sparkline } from "./report/curve.ts";
import { bothSearches, type DemoFindings, type DemoSummary, summarize, tableOf } from "./report/report.ts";
import { chooseTraces } from "./report/traces.ts";
import { trainWorldModel, worldSft } from "./world-model.ts";
import { indexFolder, type OpenWorld, openWorld } from "./world-search.ts";

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
  /** Trains a start model as the shipped one was, from nothing, in place of taking that one. @default false */
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

const { batchSize: demonstrations, steps: worldModel } = worldSft;
const fullSizes: DemoSizes = {
  ...{ reading: 1600, start: 100, thorough: 100, demonstrations, worldModel },
  training: { steps: 34, batchQuestions: 48, samples: 4, learningRate: 4e-4, warmupSteps: 3 },
};

const quickSizes: DemoSizes = {
  ...{ reading: 2, start: 2, thorough: 2, demonstrations, worldModel: 30 },
  training: { steps: 2, batchQuestions: 8, samples: 2, warmupSteps: 0 },
  numTest: 16,
};

/** The shipped model's folder. */
export const worldCheckpoint = join(packageRoot, "world", "checkpoint");

/** The folder of the shipped model that imitates the guessing teacher. */
const guessingCheckpoint = join(packageRoot, "world", "guessing");

/**
 * Trains a model that imitates a guessing teacher by GRPO, once with one query a turn and once with parallel queries.
 * Beside it stand the control, which goes on imitating the same teacher over as many samples as both trainings roll out, and
 * with `compare` a model that imitates a thorough teacher. All are evaluated on the same held-out questions.
 *
 * @param options - output folder, seed, size
 * @returns figures, table, curves and traces, which also stand in the output folder
 * @throws ERR_ABORTED when the signal fires; ERR_IO when the folder cannot be written
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const { out, seed = 0, compare = false, signal, onLine = () => {} } = options;
  using _lock = await lockFolder(out);
  using opened = await openWorld(out, { seed, signal });
  const { world } = opened;
  onLine(`world: ${world.passages.length} passages, ${world.questions.train.length} training questions`);
  const plan = await planOf(options);
  const names = ["single", "multi", "control", ...(compare ? (["thorough"] as const) : [])] as const;
  return report(await runParts(names, plan, { opened, onLine, signal }), plan, opened);
}

async function planOf(options: DemoOptions): Promise<DemoPlan> {
  const { out, seed = 0, quick = false, fromScratch = false, device = "cpu", lora } = options;
  const { sizes = quick ? quickSizes : fullSizes } = options;
  // What was trained before a kill is not trained again; another seed, size or start has its own folders.
  const suffix = `seed-${seed}${quick ? "-quick" : ""}${fromScratch ? "-from-scratch" : ""}`;
  const plan = { out, suffix, seed, device, lora, sizes, start: guessingCheckpoint };
  return fromScratch ? { ...plan, start: await trainStart(plan, options) } : plan;
}

/** How the shipped start model was made: reading is learnt first, habits last. */
async function trainStart(plan: DemoPlan, options: DemoOptions): Promise<string> {
  const { signal, onLine = () => {} } = options;
  const { demonstrations, reading, start } = plan.sizes;
  const around = { ...plan, demonstrations, onLine, signal };
  const read = await imitate(around, {
    ...{ name: "reading", from: await baseModel(plan, options), habits: kReadingHabits, steps: reading },
  });
  return imitate(around, {
    ...{ name: "start", from: read, habits: kGuessingHabits, firstBatch: reading, steps: start },
  });
}

async function baseModel(
  { out, seed, device, sizes }: DemoPlan,
  { onLine = () => {}, signal }: DemoOptions,
): Promise<string> {
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

async function report(found: DemoFindings, plan: DemoPlan, { world }: OpenWorld): Promise<DemoResult> {
  const { out, seed, sizes } = plan;
  const counts = {
    ...{ seed, steps: numSteps(plan), samples: numRollouts(plan) },
    thoroughSamples: sizes.thorough * sizes.demonstrations,
  };
  const summary = summarize(found, counts);
  const traces = chooseTraces(found, { questions: world.questions.test, facts: world.facts.test });
  const curve = async (mode: QueryMode): Promise<RewardCurve> => ({
    ...{ mode, rewards: await curveOf(modeFolder(mode, plan)) },
    before: bothSearches(summary[mode].before),
    after: bothSearches(summary[mode].after),
    control: bothSearches(summary.control[mode]),
  });
  const curves = [await curve("single"), await curve("multi")];
  await writeFileAtomic(join(out, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
  await writeFileAtomic(join(out, "reward.svg"), chartOf(curves));
  const text = traces.map(([title, trace]) => `# ${title}\n\n${trace}\n`).join("\n");
  await writeFileAtomic(join(out, "traces.txt"), text);
  const [{ question = "" } = {}] = world.questions.test;
  return {
    ...{ summary, table: tableOf(summary), traces, curves: curves.map(sparkline).join("\n") },
    ask: `npx seekrl ask "${question}" --model ${modeFolder("multi", plan)} --index ${indexFolder(out, seed)}`,
  };
}
