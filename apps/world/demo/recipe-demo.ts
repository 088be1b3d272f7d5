/** A published recipe on the built-in world in one command: its form, its stages of RL, held-out figures around each. */
import { join } from "node:path";
import { writeFileAtomic } from "../../../lib/base/files/files.ts";
import { lockFolder } from "../../../lib/base/files/folder-lock.ts";
import { readJsonRows } from "../../../lib/data/files/jsonl.ts";
import { type LocalPolicy, openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import type { LoraOptions } from "../../../lib/model/form/lora-options.ts";
import { agentPartsOf } from "../../../lib/recipes/plan.ts";
import { type Recipe, recipeTotalReward } from "../../../lib/recipes/recipe.ts";
import { latestCheckpoint } from "../../../lib/train/run/checkpoint.ts";
import { worldTeaching } from "../recipes/world-speech.ts";
import {
  differencesOf,
  type FormatLearning,
  fitToWorld,
  type WorldSizes,
} from "../recipes/world-training.ts";
import type { WorldSetting } from "../world-file.ts";
import { worldCheckpoint } from "./demo.ts";
import { evaluateHeldOut } from "./held-out.ts";
import { learnFormat } from "./imitation.ts";
import { stepLine } from "./parts/lines.ts";
import { reinforce } from "./reinforce.ts";
import {
  type ControlSummary,
  differenceLine,
  type RecipeSummary,
  recipeFigures,
  recipeFiguresLine,
  type StageSummary,
} from "./report/recipe-report.ts";
import { worldSft } from "./world-model.ts";
import { indexFolder, type OpenWorld, openWorld } from "./world-search.ts";

/** One training after the other, each from the weights the one before has left. */
export interface DemoStage {
  readonly name: string;
  /** As published. */
  readonly recipe: Recipe;
  readonly sizes: WorldSizes;
  /** Ends the stage as soon as this share of its rollouts search. @default after its steps */
  readonly untilSearchShare?: number;
}

/** How to run it. */
interface RecipeDemoOptions {
  /** Logs, checkpoints and `summary.json` go here. */
  readonly out: string;
  readonly stages: readonly DemoStage[];
  /** Name and choices of the recipe, as `--recipe` takes them: what the models' `world.json` says. */
  readonly choice: { readonly name: string };
  readonly start: FormatLearning;
  /** Of the world, the demonstrations, the questions' order and every sampled token. @default 0 */
  readonly seed?: number;
  /** Two steps of everything: shows that it works, not that it learns. @default false */
  readonly quick?: boolean;
  /** Trains an adapter in place of the weights, once these know the tags. @default none */
  readonly lora?: LoraOptions | undefined;
  /** @default "cpu" */
  readonly device?: string;
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** What the demo found. */
interface RecipeDemoResult {
  readonly summary: RecipeSummary;
  /** The command that asks the trained model. */
  readonly ask: string;
}

const quickSizes = { formatSteps: 2, numTest: 16, training: { steps: 2, batchQuestions: 2 } };
/** Steps between the evaluations that make a curve. */
const evaluateEvery = 5;

/**
 * Shows the world's model a recipe's tags, evaluates it, trains it by the recipe, and evaluates it again. Beside it stands a
 * control that imitates the same teacher further. The same call on the same folder goes on where a kill has left it.
 *
 * @param options - stages, what the model starts from, folder, seed
 * @returns the figures, which also stand in `summary.json`, and how to ask the model
 * @throws ERR_ABORTED when the signal fires; ERR_IO when the folder cannot be written
 */
export async function runRecipeDemo(options: RecipeDemoOptions): Promise<RecipeDemoResult> {
  const { out, seed = 0, lora, device = "cpu", signal } = options;
  using _lock = await lockFolder(out);
  using opened = await openWorld(out, { seed, signal });
  await using start = await openLocalPolicy({ model: worldCheckpoint, device }, { seed });
  await learnTags(start, options);
  // The weights that an adapter is put on are those of a folder, which it names.
  await using adapted =
    lora && (await openLocalPolicy({ model: await formatFolder(options), device, lora, seed }, { seed }));
  const policy = adapted ?? start;
  const stages: StageSummary[] = [];
  let [questions, samples] = [0, 0];
  for (const stage of options.stages) {
    const { summary, numQuestions, numRollouts } = await runStage(stage, { policy, opened, options });
    questions = numQuestions;
    samples += numRollouts;
    stages.push(summary);
  }
  const summary = { seed, questions, stages, control: await runControl(samples, opened, options) };
  await writeFileAtomic(join(out, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
  const [{ question = "" } = {}] = opened.world.questions.test;
  const { name } = options.stages.at(-1) ?? {};
  const model = name === undefined ? folderOf("format", options) : stageFolder(name, options);
  return { summary, ask: `npx seekrl ask "${question}" --model ${model} --index ${indexFolder(out, seed)}` };
}

/** What the models say of the world they belong to. */
function settingOf({ seed = 0, choice }: RecipeDemoOptions): WorldSetting {
  return { seed, search: "plain", recipe: choice };
}

async function learnTags(policy: LocalPolicy, options: RecipeDemoOptions): Promise<void> {
  const { stages, start, seed = 0, quick = false, onLine = () => {}, signal } = options;
  const [first] = stages;
  if (first === undefined) return;
  const steps = quick ? Math.min(start.steps, quickSizes.formatSteps) : start.steps;
  await learnFormat(policy, {
    ...{ steps, seed, signal, folder: folderOf("format", options), worldSetting: settingOf(options) },
    peak: start.peak,
    carefulShare: start.carefulShare,
    teaching: worldTeaching(fitToWorld(first.recipe, first.sizes), start),
    onStep: ({ step, loss }) => {
      if (step % 50 === 0 || step === steps) onLine(`format ${step}/${steps}  loss ${loss.toFixed(3)}`);
    },
  });
}

/** Of the model that knows the recipe's tags. */
async function formatFolder(options: RecipeDemoOptions): Promise<string> {
  const checkpoint = await latestCheckpoint(join(folderOf("format", options), "checkpoints"));
  return checkpoint?.folder ?? worldCheckpoint;
}

/** Another seed or size has folders of its own. */
function folderOf(name: string, { out, seed = 0, quick = false }: RecipeDemoOptions): string {
  return join(out, `${name}-seed-${seed}${quick ? "-quick" : ""}`);
}

/** So has what is trained. */
function stageFolder(name: string, options: RecipeDemoOptions): string {
  return `${folderOf(name, options)}${options.lora === undefined ? "" : "-lora"}`;
}

interface Around {
  readonly policy: LocalPolicy;
  readonly opened: OpenWorld;
  readonly options: RecipeDemoOptions;
}

async function runStage({ name, recipe: own, sizes, untilSearchShare }: DemoStage, around: Around) {
  const { policy, opened, options } = around;
  const { seed = 0, quick = false, onLine = () => {}, signal } = options;
  const fitted = fitToWorld(own, sizes);
  const differences = differencesOf(own, fitted);
  for (const each of differences) onLine(`${name}: ${differenceLine(each)}`);
  const recipe = quick ? { ...fitted, training: { ...fitted.training, ...quickSizes.training } } : fitted;
  const folder = stageFolder(name, options);
  const { before, after } = await reinforce(policy, {
    ...{ recipe, folder, seed, signal, world: opened.world, search: opened.search },
    worldSetting: settingOf(options),
    ...(quick ? { numTest: quickSizes.numTest } : { evaluateEvery }),
    endWhen: untilSearchShare === undefined ? undefined : searchesAt(untilSearchShare),
    onEvaluation: (moment, result) => onLine(`${name} ${moment}  ${recipeFiguresLine(result)}`),
    onStep: (metrics) => onLine(stepLine(name, metrics, recipe.training.steps)),
  });
  const figures = { before: recipeFigures(before), after: recipeFigures(after) };
  const steps = await stepsIn(folder);
  const { batchQuestions, samples } = recipe.training;
  return {
    summary: { stage: name, steps, ...figures, differences },
    ...{ numQuestions: before.questions, numRollouts: steps * batchQuestions * samples },
  };
}

/** Imitates the teacher of the start further, over as many demonstrations as all stages have rollouts. */
async function runControl(
  samples: number,
  { world, search }: OpenWorld,
  options: RecipeDemoOptions,
): Promise<ControlSummary | undefined> {
  const { start, seed = 0, quick = false, device = "cpu", onLine = () => {}, signal } = options;
  const last = options.stages.at(-1);
  if (last === undefined) return undefined;
  const recipe = fitToWorld(last.recipe, last.sizes);
  await using policy = await openLocalPolicy({ model: await formatFolder(options), device }, { seed });
  await learnFormat(policy, {
    ...{ seed, signal, carefulShare: 0, firstBatch: start.steps, peak: start.peak },
    ...{ steps: Math.ceil(samples / worldSft.batchSize), folder: folderOf("control", options) },
    worldSetting: settingOf(options),
    teaching: worldTeaching(recipe, start),
  });
  const parts = agentPartsOf(policy, recipe, search);
  const questions = world.questions.test.slice(0, quick ? quickSizes.numTest : undefined);
  const reward = recipeTotalReward(recipe, parts.tokenizer);
  const result = await evaluateHeldOut(questions, parts, { reward, seed, signal });
  onLine(`control  ${recipeFiguresLine(result)}`);
  return { samples, ...recipeFigures(result) };
}

function searchesAt(share: number): (metrics: Readonly<Record<string, number>>) => boolean {
  return (metrics) => (metrics["search/share"] ?? 0) >= share;
}

/** Steps that a run has taken, those before a kill included. */
async function stepsIn(folder: string): Promise<number> {
  let steps = 0;
  for await (const _ of readJsonRows(join(folder, "metrics.jsonl"))) steps += 1;
  return steps;
}
