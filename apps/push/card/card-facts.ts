/** What a model card states: read from the model's folder, its run and files of results. */
import { join } from "node:path";
import { readText } from "../../../lib/base/files/regular-file.ts";
import { packageVersion } from "../../../lib/base/package-root.ts";
import { adapterConfigFile } from "../../../lib/model/peft-config.ts";
import type { Settings } from "../../../lib/train/run/settings.ts";
import { readRecord } from "../../runs/run-config.ts";
import type { PushedFolder } from "../pushed-folder.ts";
import { type BaseModel, baseModelOf } from "./base-model.ts";
import { type OtherSetting, otherSettings } from "./recipe-settings.ts";
import { type SetScores, scoresInFile, scoresInRun } from "./scores.ts";
import { type DataSource, dataOf } from "./training-data.ts";

/** How a model was trained. */
export interface TrainingFacts {
  readonly kind: "rl" | "sft";
  /** Name and choices as JSON; undefined where the run's options name none. */
  readonly recipe: { readonly name: string; readonly choices: readonly string[] } | undefined;
  /** `ppo`, `grpo`, `sft`. */
  readonly algorithm: string;
  /** Steps that this model has seen. */
  readonly step: number;
  /** Of the run; undefined where it does not say. */
  readonly steps: number | undefined;
  readonly data: readonly DataSource[];
  /** Undefined for a recipe that is not a published one. */
  readonly otherSettings: readonly OtherSetting[] | undefined;
  readonly config: Settings;
}

/** All that a card states. */
export interface CardFacts {
  /** `OWNER/NAME`, where it is going. */
  readonly id: string;
  readonly kind: PushedFolder["kind"];
  /** Whose classes load it; undefined for forms that only SeekRL knows. */
  readonly library: "transformers" | "peft" | undefined;
  readonly base: BaseModel | undefined;
  readonly license: string | undefined;
  readonly training: TrainingFacts | undefined;
  readonly scores: readonly SetScores[];
  /** Of SeekRL. */
  readonly version: string;
}

/** What is known besides the folder. */
interface CardOptions {
  readonly id: string;
  readonly license?: string | undefined;
  readonly evaluations: readonly string[];
}

/**
 * Reads what a card states.
 *
 * @param pushed - the model, and the run that made it
 * @param options - where it goes, its licence, files of results
 * @throws ERR_IO, ERR_FORMAT, ERR_STATE of files of results and of the run's
 */
export async function cardFacts(
  pushed: PushedFolder,
  { id, license, evaluations }: CardOptions,
): Promise<CardFacts> {
  const { folder, kind, run, step } = pushed;
  const scores: SetScores[] = [];
  for (const path of evaluations) scores.push(...(await scoresInFile(path)));
  if (evaluations.length === 0 && run !== undefined) scores.push(...(await scoresInRun(run, step)));
  return {
    ...{ id, kind, license, scores, version: packageVersion() },
    library: await libraryOf(folder, kind),
    base: await baseModelOf(pushed),
    training: await trainingOf(pushed),
  };
}

/** Adapters of projections that are no modules of transformers', and weights in our own blocks, are read here alone. */
async function libraryOf(folder: string, kind: PushedFolder["kind"]): Promise<CardFacts["library"]> {
  const file = kind === "model" ? "config.json" : adapterConfigFile;
  const config = Object(JSON.parse(await readText(join(folder, file)))) as {
    readonly peft_type?: string;
    readonly quantization_config?: { readonly quant_method?: string };
  };
  if (kind === "adapter") return config.peft_type === "LORA" ? "peft" : undefined;
  return config.quantization_config?.quant_method === "seekrl" ? undefined : "transformers";
}

async function trainingOf({ run, step }: PushedFolder): Promise<TrainingFacts | undefined> {
  if (run === undefined) return undefined;
  const { kind, step: done, steps } = await run.status();
  const { config = {}, isOwn = false } = (await readRecord(run.folder)) ?? {};
  return {
    ...{ kind, steps, config, step: step ?? done, recipe: recipeOf(config) },
    algorithm: kind === "sft" ? "sft" : algorithmOf(config),
    data: await dataOf(config, isOwn),
    otherSettings: kind === "sft" ? undefined : await otherSettings(config),
  };
}

function recipeOf({ recipe }: Settings): TrainingFacts["recipe"] {
  const { name, promptFile, ...choices } = Object(recipe) as Readonly<Record<string, unknown>>;
  if (typeof name !== "string") return undefined;
  const said = Object.entries(choices).filter(([, value]) => value !== false);
  const own = promptFile === undefined ? [] : ["a prompt of its own"];
  return { name, choices: [...said.map(([key, value]) => `${key} ${value}`), ...own] };
}

function algorithmOf({ algorithm }: Settings): string {
  const { name, advantage } = Object(algorithm) as { readonly name?: string; readonly advantage?: string };
  return name ?? (advantage === "gae" ? "ppo" : (advantage ?? "rl"));
}
