/** One row of the table: train a variant, evaluate it on held-out questions, write the result down. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SeekError } from "../base/errors.ts";
import { writeFileAtomic } from "../base/files.ts";
import { evaluate } from "../evaluate/evaluate.ts";
import { worldRecipe } from "../recipes/world.ts";
import { rolloutGroup, searchAgent } from "../rollout/agent.ts";
import { copyTokenizer } from "../text/copy-tokenizer.ts";
import { Critic } from "../train/critic.ts";
import { rl } from "../train/rl.ts";
import { schedule } from "../train/schedule.ts";
import { Trainer } from "../train/trainer.ts";
import type { Prepared } from "./prepare.ts";
import { type OpenedPlayer, openPlayer, type Setting } from "./setting.ts";
import type { Variant } from "./variants.ts";

/** What a run came to. */
export interface RunResult {
  readonly variant: string;
  readonly mode: Setting["mode"];
  readonly seed: number;
  /** 0 to 1, over the held-out questions, greedily. */
  readonly em: number;
  readonly f1: number;
  readonly rounds: number;
  readonly secondsPerQuestion: number;
  /** Tokens that the model wrote per question. */
  readonly generatedTokens: number;
  /** Turns without an action per question. */
  readonly invalidActions: number;
  /** 1 or 0 for each question, in order. */
  readonly perQuestion: readonly number[];
  /** Of the training, in seconds. */
  readonly trainSeconds: number;
  readonly rlSteps: number;
}

/**
 * Trains and evaluates one variant, unless its result is there.
 *
 * @param variant - what is left out
 * @param setting - mode, seed, world, folders
 * @param prepared - models and questions to start from
 * @returns the result, as it stands in `<variant>/result.json`
 * @throws ERR_ABORTED when the signal fires; ERR_IO; ERR_FORMAT for a result that is none
 */
export async function runVariant(variant: Variant, setting: Setting, prepared: Prepared): Promise<RunResult> {
  const folder = join(setting.folder, variant.name.replaceAll(" ", "-"));
  const path = join(folder, "result.json");
  if (existsSync(path)) return readResult(path);
  await using player = await openPlayer(variant.start === "sft" ? prepared.sft : setting.base, setting);
  const started = performance.now();
  if (variant.questions !== "none") await train(player, variant, { setting, prepared, folder });
  const trainSeconds = (performance.now() - started) / 1000;
  const result = { ...(await judge(player, variant, setting)), trainSeconds };
  await writeFileAtomic(path, `${JSON.stringify(result)}\n`);
  return result;
}

async function readResult(path: string): Promise<RunResult> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as RunResult;
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: expected a result; remove it to run again`, { cause });
  }
}

async function judge(
  { parts }: OpenedPlayer,
  { name, questions }: Variant,
  { world, sizes, seed, mode, signal }: Setting,
): Promise<Omit<RunResult, "trainSeconds">> {
  const agent = searchAgent({ ...parts, sampling: { temperature: 0 } });
  const held = world.questions.test.slice(0, sizes.numTest);
  // One after the other, as one user waits: the time per question is then RAG-R1's own measure.
  const how = { agent, seed, concurrency: 1, ...(signal ? { signal } : {}) };
  const { em, f1, rounds, secondsPerQuestion, generatedTokens, perQuestion } = await evaluate({
    questions: held,
    ...how,
  });
  const invalidActions = perQuestion.reduce((sum, each) => sum + each.invalidActions, 0) / held.length;
  return {
    ...{ variant: name, mode, seed, em, f1, rounds, secondsPerQuestion, generatedTokens, invalidActions },
    perQuestion: perQuestion.map((each) => each.em),
    rlSteps: questions === "none" ? 0 : sizes.rlSteps,
  };
}

interface TrainParts {
  readonly setting: Setting;
  readonly prepared: Prepared;
  readonly folder: string;
}

async function train(
  { model, parts }: OpenedPlayer,
  { name, questions, lossOn }: Variant,
  { setting, prepared, folder }: TrainParts,
): Promise<void> {
  const { mode, seed, sizes, onLine, signal, teacher } = setting;
  const { algorithm, reward, training } = worldRecipe({ queries: mode });
  const { weightDecay, batchQuestions, samples, warmupSteps, decay } = training;
  await using trainer = await Trainer.open(model, { weightDecay });
  await using critic = await Critic.open(model, { weightDecay });
  await using reference = await model.clone();
  const steps = sizes.rlSteps;
  await rl({
    learners: { trainer, critic, reference },
    task: {
      questions: questions === "selected" ? prepared.selected : prepared.all,
      rollout: (question, how) => rolloutGroup(parts, question, how),
      reward,
    },
    algorithm: { ...algorithm, lossOn },
    ...{ batch: { questions: batchQuestions, samples }, steps, seed },
    learningRate: {
      policy: schedule({ peak: training.learningRate, warmupSteps, decay, steps }),
      critic: schedule({ peak: training.criticLearningRate, warmupSteps: training.criticWarmupSteps }),
    },
    run: { folder, checkpointEvery: 10, keep: 1, onCheckpoint: (to) => copyTokenizer(teacher, to) },
    onStep: (metrics) => {
      const figures = `reward ${(metrics["reward/mean"] ?? 0).toFixed(3)}`;
      if (metrics.step % 10 === 0) onLine(`${mode} ${name}: step ${metrics.step}/${steps}  ${figures}`);
    },
    ...(signal ? { signal } : {}),
  });
}
