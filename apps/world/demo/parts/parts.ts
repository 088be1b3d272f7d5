/** The parts of a demo, which know nothing of each other: a training in each mode, and models to compare with. */
import { join } from "node:path";
import { type LocalPolicy, openLocalPolicy } from "../../../../lib/engine/local-policy.ts";
import type { LoraOptions } from "../../../../lib/model/form/lora-options.ts";
import type { Recipe, Training } from "../../../../lib/recipes/recipe.ts";
import type { QueryMode } from "../../../../lib/text/observation.ts";
import type { Algorithm } from "../../../../lib/train/algorithm/algorithm.ts";
import { kGuessingHabits, kThoroughHabits } from "../../recipes/patchy-teaching.ts";
import { imitate } from "../imitation.ts";
import { evaluateModel, type ModelEvaluation, searchRecipes } from "../model-evaluation.ts";
import { type BeforeAfter, trainOnWorld } from "../reinforce.ts";
import type { OpenWorld } from "../world-search.ts";
import { evaluationLine, stepLine } from "./lines.ts";

/** How much of everything is done. */
export interface DemoSizes {
  /** Steps of SFT by which a start model learns to read what a search finds, or that it found nothing. */
  readonly reading: number;
  /** Steps of SFT by which it learns its teacher's habits. */
  readonly start: number;
  /** Steps of SFT on a thorough teacher's demonstrations, from the start. */
  readonly thorough: number;
  /** Of one step of SFT. */
  readonly demonstrations: number;
  /** Steps of SFT by which a base model is made from nothing. */
  readonly worldModel: number;
  /** What differs from the sizes of the world's recipe. */
  readonly training: Partial<Training>;
  /** Held-out questions. @default all */
  readonly numTest?: number;
}

/** What every part needs to know, as plain data: a part may run in a process of its own. */
export interface DemoPlan {
  /** Folder of the demo. */
  readonly out: string;
  /** Tells the folders of this demo from those of other seeds and sizes. */
  readonly suffix: string;
  /** Folder of the start model. */
  readonly start: string;
  readonly seed: number;
  readonly device: string;
  readonly sizes: DemoSizes;
  readonly lora?: LoraOptions | undefined;
}

/** One model in both modes. */
type BothModes = Readonly<Record<QueryMode, ModelEvaluation>>;

/** What each part finds. */
export interface PartResults {
  readonly single: BeforeAfter<ModelEvaluation>;
  readonly multi: BeforeAfter<ModelEvaluation>;
  /** Goes on imitating the start's teacher. */
  readonly control: BothModes;
  /** The start, fine-tuned on a thorough teacher's demonstrations. */
  readonly thorough: BothModes;
}

/** A part's name. */
export type PartName = keyof PartResults;

/** What a part has around it. */
export interface PartSetting {
  readonly opened: OpenWorld;
  readonly onLine: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

type Parts = {
  readonly [Name in PartName]: (plan: DemoPlan, setting: PartSetting) => Promise<PartResults[Name]>;
};

/** Each part; one that was killed goes on in its folder. */
export const parts: Parts = {
  single: (plan, setting) => trainMode("single", plan, setting),
  multi: (plan, setting) => trainMode("multi", plan, setting),
  control: (plan, setting) => imitateFurther("control", plan, setting),
  thorough: (plan, setting) => imitateFurther("thorough", plan, setting),
};

/** Where a mode's training keeps its log and its model. */
export function modeFolder(mode: QueryMode, { out, suffix, lora }: DemoPlan): string {
  return join(out, `${mode}-${suffix}${lora === undefined ? "" : "-lora"}`);
}

/** Steps of each training. */
export function numSteps({ sizes }: DemoPlan): number {
  return sizedTraining("single", sizes).steps;
}

/** Rollouts of both trainings together. */
export function numRollouts({ sizes }: DemoPlan): number {
  const { steps, batchQuestions, samples } = sizedTraining("single", sizes);
  return 2 * steps * batchQuestions * samples;
}

function sizedTraining(mode: QueryMode, { training }: DemoSizes): Training {
  return { ...searchRecipes(mode).patchy.training, ...training };
}

/**
 * GRPO without a reference: each rollout against the others of its question. What a critic would learn in so few steps is worth less
 * than the rollouts that its time pays for.
 */
const algorithm: Algorithm = { advantage: "grpo", miniBatches: 4 };

/** Evaluates a model in a mode and tells what it found, under the model's name. */
function evaluating(
  policy: LocalPolicy,
  { seed, sizes }: DemoPlan,
  { opened, onLine, signal }: PartSetting,
): (mode: QueryMode, name: string) => Promise<ModelEvaluation> {
  return async (mode, name) => {
    const result = await evaluateModel(policy, mode, { opened, seed, numTest: sizes.numTest, signal });
    onLine(evaluationLine(mode, name, result));
    return result;
  };
}

async function trainMode(
  mode: QueryMode,
  plan: DemoPlan,
  { opened, onLine, signal }: PartSetting,
): Promise<BeforeAfter<ModelEvaluation>> {
  const { start, seed, device, lora, sizes } = plan;
  const { patchy, plain } = searchRecipes(mode);
  const recipe: Recipe = { ...patchy, algorithm, training: sizedTraining(mode, sizes) };
  await using policy = await openLocalPolicy({ model: start, device, lora, seed }, { seed });
  const evaluated = evaluating(policy, plan, { opened, onLine, signal });
  const before = await evaluated(mode, "start");
  await trainOnWorld(policy, {
    ...{ recipe, other: plain, folder: modeFolder(mode, plan), seed, signal },
    ...{ world: opened.world, search: opened.search },
    worldSetting: { seed, queries: mode, search: "patchy" },
    onStep: (metrics) => onLine(stepLine(mode, metrics, recipe.training.steps)),
  });
  return { before, after: await evaluated(mode, "after RL") };
}

async function imitateFurther(
  name: "control" | "thorough",
  plan: DemoPlan,
  { opened, onLine, signal }: PartSetting,
): Promise<BothModes> {
  const { sizes, seed, device, start, out, suffix } = plan;
  const { demonstrations } = sizes;
  const isControl = name === "control";
  const model = await imitate(
    { out, suffix, seed, device, demonstrations, onLine, signal },
    {
      ...{ name, from: start, firstBatch: sizes.reading + sizes.start },
      habits: isControl ? kGuessingHabits : kThoroughHabits,
      steps: isControl ? Math.ceil(numRollouts(plan) / demonstrations) : sizes.thorough,
    },
  );
  await using policy = await openLocalPolicy({ model, device }, { seed });
  const evaluated = evaluating(policy, plan, { opened, onLine, signal });
  return { single: await evaluated("single", name), multi: await evaluated("multi", name) };
}
