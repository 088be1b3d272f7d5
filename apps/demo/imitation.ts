/** Models that imitate a teacher, trained from another model's folder and evaluated in both modes. */
import { join } from "node:path";
import { SeekError } from "../../lib/base/errors.ts";
import { agentPartsOf } from "../../lib/recipes/plan.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import type { QueryMode } from "../../lib/text/observation.ts";
import { latestCheckpoint } from "../../lib/train/run/checkpoint.ts";
import { patchyTeaching } from "../world/teachers/patchy-teaching.ts";
import type { Habits } from "../world/teachers/teacher.ts";
import { evaluateHeldOut, type HeldOut } from "./held-out.ts";
import { learnFormat } from "./learn-format.ts";
import { openPlayer } from "./player.ts";
import { figuresLine } from "./report.ts";
import type { OpenWorld } from "./world-search.ts";

/** Where the runs of one demo are kept. */
export interface ImitateOptions {
  readonly out: string;
  /** Tells the folders of this demo from those of other seeds and sizes. */
  readonly suffix: string;
  readonly seed: number;
  readonly device: string;
  readonly onLine: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Whom to imitate, and for how long. */
export interface Imitation {
  readonly name: string;
  /** Folder of the model to begin with. */
  readonly from: string;
  readonly habits: Habits;
  /** Of 24 demonstrations each. */
  readonly steps: number;
  /** The first batch of demonstrations that is shown. @default 0 */
  readonly firstBatch?: number;
}

/**
 * Fine-tunes a model on a teacher's demonstrations; a run that is finished already is not repeated.
 *
 * @param options - folders, seed, device
 * @param imitation - start, teacher, steps
 * @returns the folder of the model it has become
 * @throws ERR_ABORTED when the signal fires; ERR_IO when the folder cannot be written
 */
export async function imitate(options: ImitateOptions, imitation: Imitation): Promise<string> {
  const { out, suffix, seed, device, onLine, signal } = options;
  const { name, from, habits, steps, firstBatch } = imitation;
  const folder = join(out, `${name}-${suffix}`);
  await using player = await openPlayer(from, { seed, device });
  await learnFormat(player, {
    ...{ folder, steps, seed, signal, firstBatch, carefulShare: 0 },
    teaching: patchyTeaching(habits),
    onStep: ({ step, loss }) => {
      if (step % 50 === 0 || step === steps) onLine(`${name} ${step}/${steps}  loss ${loss.toFixed(3)}`);
    },
  });
  const checkpoint = await latestCheckpoint(join(folder, "checkpoints"));
  if (checkpoint === undefined)
    throw new SeekError("ERR_STATE", `${folder}: expected a checkpoint, got none`);
  return checkpoint.folder;
}

/** What an evaluation needs besides. */
export interface EvaluateModesOptions extends ImitateOptions {
  readonly opened: OpenWorld;
  readonly recipes: Readonly<Record<QueryMode, Recipe>>;
  readonly numTest: number | undefined;
}

/** Evaluates a model on the held-out questions, with one query a turn and with parallel queries. */
export async function evaluateModes(
  name: string,
  folder: string,
  { opened, recipes, numTest, seed, device, onLine, signal }: EvaluateModesOptions,
): Promise<Readonly<Record<QueryMode, HeldOut>>> {
  await using player = await openPlayer(folder, { seed, device });
  const evaluateMode = async (mode: QueryMode): Promise<HeldOut> => {
    const recipe = recipes[mode];
    const parts = agentPartsOf(player, recipe, opened.search);
    const questions = opened.world.questions.test.slice(0, numTest);
    const result = await evaluateHeldOut(questions, parts, { reward: recipe.reward, seed, signal });
    onLine(`${mode} ${name}  ${figuresLine(result)}`);
    return result;
  };
  return { single: await evaluateMode("single"), multi: await evaluateMode("multi") };
}
