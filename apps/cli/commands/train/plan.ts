/** `seekrl plan`: how long a step of a training takes on many GPUs, and what each holds, before there are any. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { defined } from "../../../../lib/base/defined.ts";
import { codeOf, SeekError } from "../../../../lib/base/errors.ts";
import type { DecoderConfig } from "../../../../lib/model/config/config.ts";
import { parseConfig } from "../../../../lib/model/config/parse-config.ts";
import { readJson } from "../../../../lib/model/model-folder.ts";
import { resizedTraining } from "../../../../lib/recipes/recipe.ts";
import type { PlannedTraining } from "../../../plan/layouts.ts";
import { type Cluster, type GpuName, gpuOf, networkOf } from "../../../plan/machine.ts";
import { planned, type RatedLayout } from "../../../plan/planned.ts";
import { knownConfig, knownNames } from "../../../plan/shapes.ts";
import { textSums, type Workload, workloadOf } from "../../../plan/workload.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { fetchedFromHub } from "../../fetch/local-paths.ts";
import { flagName } from "../../flags.ts";
import { loraChoiceOf, loraOf } from "../../options/lora-options.ts";
import { chooseRecipe } from "../../options/recipe-options.ts";
import { type Outcome, planLines } from "../../report/plan-report.ts";
import { checkPlan, type PlanOptions, planOptions } from "./plan-options.ts";

/** The command. */
export const planCommand = command({
  name: "plan",
  summary: "computes time and memory of a training step on many GPUs, and how best to lay it out",
  options: planOptions,
  run: async (options, io) => {
    checkPlan(options);
    const config = await configOf(options.model, io);
    const training = trainingOf(options, config);
    const { zero, tensor, rolloutGpus: rolloutDevices } = options;
    const outcomes = options.gpus.map((devices): Outcome => {
      const cluster = clusterOf(options, devices);
      return { devices, ...planned(training, cluster, { zero, tensor, rolloutDevices }) };
    });
    const impossible = outcomes.find(({ all }) => all.length === 0);
    if (impossible !== undefined) throw new UsageError(impossibleText(options, impossible.devices));
    show({ options, training, outcomes }, io);
    if (outcomes.every(({ best }) => best === undefined)) throw noneFits(options);
  },
});

async function configOf(model: string, io: CommandIo): Promise<DecoderConfig> {
  const known = knownConfig(model);
  if (known !== undefined) return known;
  const path = (await configHere(model)) ?? (await configOfHub(model, io));
  if (path !== undefined) return parseConfig(await readJson(path), path);
  throw new UsageError(
    `--model ${model}: expected a folder, a config.json, a model of the hub (OWNER/NAME), or one of ${knownNames.join(", ")}`,
  );
}

/** Offline there is no shape to be had but those that are known here. */
async function configOfHub(model: string, io: CommandIo): Promise<string | undefined> {
  return fetchedFromHub(model, io, "config.json").catch((error: unknown) => {
    if (codeOf(error) !== "ERR_REMOTE" && codeOf(error) !== "ERR_IO") throw error;
    const [what = ""] = (error as Error).message.split(/\.? Remedy: /);
    const remedy = `Remedy: a config.json, or a size that needs no network: ${knownNames.join(", ")}`;
    throw new SeekError(codeOf(error)!, `${what}. ${remedy}`, { cause: error });
  });
}

async function configHere(model: string): Promise<string | undefined> {
  const found = await stat(model).catch(() => undefined);
  if (found === undefined) return undefined;
  return found.isDirectory() ? join(model, "config.json") : model;
}

function clusterOf({ gpu, gpusPerMachine, networkGbits }: PlanOptions, devices: number): Cluster {
  const [device, network] = [gpuOf(gpu as GpuName), networkOf(networkGbits)];
  return { devices, perMachine: gpusPerMachine, device, network };
}

function workOf(options: PlanOptions): Workload {
  const { promptTokens, searches, responseTokens, observationTokens, spread, searchMs } = options;
  const texts = { promptTokens, searches, responseTokens, observationTokens, spread };
  if (options.sft) {
    const [questions, samples] = [options.batchQuestions ?? 256, options.samples ?? 1];
    const none = { isGenerated: false, searchSeconds: 0, scorings: 0, hasCritic: false, hasReference: false };
    return { ...texts, ...none, questions, samples, epochs: 1, updates: 1 };
  }
  const recipe = chooseRecipe(options.recipe);
  const { batchQuestions, samples } = options;
  const training = resizedTraining(recipe.training, defined({ batchQuestions, samples }));
  return workloadOf({ ...recipe, training }, { ...texts, searchSeconds: searchMs / 1000 });
}

/** Of the adapter that the training has: the recipe's own unless another is given, as in `train`. */
function rankOf({ lora, sft, recipe }: PlanOptions): number {
  const chosen = lora !== undefined || sft ? loraOf(lora) : chooseRecipe(recipe).training.lora;
  return chosen === undefined ? 0 : loraChoiceOf(chosen).rank;
}

function trainingOf(options: PlanOptions, config: DecoderConfig): PlannedTraining {
  const workload = workOf(options);
  const { rows, length } = textSums(workload);
  const {
    weights,
    moments,
    masterWeights,
    microBatchTokens: tokens,
    staleness,
    overlap,
    checkpointEvery,
  } = options;
  const loraRank = rankOf(options);
  if (weights !== undefined && loraRank === 0) {
    throw new UsageError("--weights: expected with --lora, since quantised weights are not trained");
  }
  const batch = { tokens, rows: Math.ceil((tokens * rows) / length) };
  const { hasCritic, hasReference } = workload;
  const model = { config, dtype: "bfloat16" as const, weights, loraRank, moments, masterWeights };
  return {
    model: { ...model, hasCritic, hasReference, batch },
    workload,
    staleness,
    overlap,
    checkpointEvery,
  };
}

function impossibleText({ tensor, zero, rolloutGpus }: PlanOptions, devices: number): string {
  const given = Object.entries(defined({ tensor, zero, rolloutGpus })).map(
    ([name, value]) => `${flagName(name)} ${value}`,
  );
  return `--gpus ${devices}: the model and the machines allow no layout with ${given.join(", ")}`;
}

/** The command has failed where no number of GPUs is enough, as a script can see. */
function noneFits({ gpus, gpu, model }: PlanOptions): SeekError {
  return new SeekError("ERR_MEMORY", `--gpus ${gpus.join(",")}: no layout of ${model} fits into ${gpu}`);
}

interface Shown {
  readonly options: PlanOptions;
  readonly training: PlannedTraining;
  readonly outcomes: readonly Outcome[];
}

function show({ options, training, outcomes }: Shown, io: CommandIo): void {
  for (const line of planLines({ ...options, training, outcomes })) io.write(`${line}\n`);
  const { workload } = training;
  io.result({
    ...{ model: options.model, gpu: options.gpu, workload },
    plans: outcomes.map(({ devices, all, best, enough }) => ({
      ...{ gpus: devices, best: best === undefined ? null : resultOf(best), layouts: all.map(resultOf) },
      enough: enough === undefined ? null : { gpus: enough.devices, best: resultOf(enough.best) },
    })),
  });
}

function resultOf({ layout, ...rest }: RatedLayout): object {
  const { rolloutDevices, ...others } = layout;
  return { layout: { ...others, rolloutGpus: rolloutDevices }, ...rest };
}
