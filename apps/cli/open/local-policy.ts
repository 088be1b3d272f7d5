/** Opens what commands need. Everything native is loaded here, on demand: help and usage errors work without it. */
import { existsSync, realpathSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import { folderName } from "../../../lib/base/files/hub-cache.ts";
import { isGguf } from "../../../lib/base/gguf/gguf.ts";
import type { Engine } from "../../../lib/engine/engine.ts";
import type { EngineOptions } from "../../../lib/engine/engine-options.ts";
import type { LoadedPolicy, LocalPolicy, PolicyChoice } from "../../../lib/engine/local-policy.ts";
import type { BaseForm } from "../../../lib/model/base-form.ts";
import type { Policy } from "../../../lib/model/policy.ts";
import type { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { copyTokenizer } from "../../../lib/text/tokenizers/copy-tokenizer.ts";
import type { Detokenizer } from "../../../lib/text/tokenizers/detokenizer.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { settingOfPolicy, withRecipe, writeWorldFile } from "../../world/world-file.ts";
import { type CommandIo, UsageError } from "../command.ts";
import { tellModel } from "./shared-model.ts";

/** The folders of a policy, and the form of its weights. */
export type PolicyFolders = Pick<PolicyChoice, "model" | "adapter" | "dtype" | "weights">;

/** A policy's folders, how to load it, and how much its engine may hold. */
interface EngineChoice extends PolicyChoice {
  /** For keys and values. @default 1 on the CPU, what is free on a GPU */
  readonly cacheGib?: number | undefined;
}

/**
 * The folders of a policy, of which an adapter's own may stand for both, and the form of its weights: the one that was asked
 * for, or the one in which the adapter was trained.
 *
 * @throws ERR_IO when the model that the adapter names is not there
 */
export async function policyFolders({ dtype, weights, ...given }: PolicyFolders): Promise<PolicyFolders> {
  const { model, adapter } = await foldersOf(given);
  const form = await formOf(adapter);
  return { model, adapter, dtype: dtype ?? form.dtype, weights: weights ?? form.weights };
}

async function foldersOf({
  model,
  adapter,
}: Pick<PolicyFolders, "model" | "adapter">): Promise<Pick<PolicyFolders, "model" | "adapter">> {
  const isAdapter = existsSync(join(model, "adapter_config.json")) && !existsSync(join(model, "config.json"));
  if (adapter !== undefined || !isAdapter) return { model, adapter };
  const { readPeftConfig } = await import("../../../lib/model/peft-config.ts");
  const { base = "", revision } = await readPeftConfig(model);
  if (existsSync(isGguf(base) ? base : join(base, "config.json"))) return { model: base, adapter: model };
  const { hubModel } = await import("../../../connectors/remote/hub/hub-place.ts");
  if (hubModel(base) !== undefined) {
    const { fetchModel } = await import("../../../connectors/remote/hub/fetch-model.ts");
    const { path } = await fetchModel(revision === undefined ? base : `${base}@${revision}`);
    return { model: path, adapter: model };
  }
  const remedy = `Remedy: --model with the model's folder and --adapter ${model}`;
  throw new SeekError("ERR_IO", `${model}: the model of this adapter is not there: ${base}. ${remedy}`);
}

/** The form of its model in which an adapter was trained. */
async function formOf(adapter: string | undefined): Promise<BaseForm> {
  if (adapter === undefined) return {};
  const { readBaseForm } = await import("../../../lib/model/base-form.ts");
  return readBaseForm(adapter);
}

/** Is told what of a policy may not be meant. */
type Warned = Pick<CommandIo, "log">;

/** A choice with the folders and the form that it means. */
async function placed(choice: PolicyChoice, io: Warned): Promise<PolicyChoice> {
  const found = await policyFolders(choice);
  if (found.adapter !== undefined) {
    await warnOfOtherModel(found.adapter, found.model, io);
    await warnOfOtherForm(found.adapter, choice, io);
  }
  return { ...choice, ...found };
}

/** Loads a model's weights, and an adapter on it. */
export async function loadPolicy(choice: PolicyChoice, io: Warned): Promise<LoadedPolicy> {
  const { loadPolicy: load } = await import("../../../lib/engine/local-policy.ts");
  return load(await shared(await placed(choice, io)));
}

/** The same choice, whose model the other ranks load too where they share it. */
async function shared(choice: PolicyChoice): Promise<PolicyChoice> {
  const { tensorParallel, model: folder, dtype, weights, device, contextTokens } = choice;
  if (tensorParallel === undefined) return choice;
  await tellModel(tensorParallel, { folder, dtype, weights, device, contextTokens });
  return choice;
}

/** Refuses to train weights that no step may change. @throws UsageError */
export function refuseQuantised(
  { isAdapter, weights }: { readonly isAdapter: boolean; readonly weights: string | undefined },
  folder: string,
): void {
  if (isAdapter || weights === undefined) return;
  const remedy = "Remedy: --lora, or a folder with plain weights";
  throw new UsageError(`--model: the weights of ${folder} are ${weights} and cannot be trained. ${remedy}`);
}

/**
 * Warns where an adapter names another model than it is put on: only shapes are compared, and another model of the same
 * sizes gives nonsense. A folder that is gone has moved when its name is the same.
 */
async function warnOfOtherModel(adapter: string, model: string, { log }: Warned): Promise<void> {
  const { readPeftConfig } = await import("../../../lib/model/peft-config.ts");
  const { base } = await readPeftConfig(adapter);
  if (base === undefined) return;
  const isSame = existsSync(base)
    ? realpathSync(base) === (existsSync(model) ? realpathSync(model) : model)
    : basename(base).toLowerCase() === folderName(model).toLowerCase();
  if (isSame) return;
  log(`warning: ${adapter} names ${base} as its model and is put on ${model}; only shapes are compared`);
}

/** Warns where an adapter is put on its model in another form than it was trained on, which computes something else. */
async function warnOfOtherForm(
  adapter: string,
  { dtype, weights }: PolicyFolders,
  { log }: Warned,
): Promise<void> {
  const trained = await formOf(adapter);
  const others = [
    { asked: weights, was: trained.weights, what: "weights" },
    // float32 computes what bfloat16 rounds.
    { asked: dtype === "float32" ? undefined : dtype, was: trained.dtype, what: "numbers" },
  ];
  for (const { asked, was, what } of others) {
    if (asked === undefined || was === undefined || asked === was) continue;
    log(
      `warning: ${adapter} was trained on ${was} ${what} and is put on ${asked} ones, which compute something else`,
    );
  }
}

/**
 * Copies what stands beside a policy's weights: tokenizer, chat template, and what says of which world it is.
 *
 * @param folders - of the policy
 * @param to - of the policy that was made of it
 * @param recipe - by which it is asked from now on, where it belongs to the built-in world. @default as before
 */
export async function copyBeside(
  { model, adapter }: PolicyFolders,
  to: string,
  recipe?: Parameters<typeof withRecipe>[1],
): Promise<void> {
  await copyTokenizer(model, to);
  const setting = await settingOfPolicy({ model, adapter });
  if (setting === undefined) return;
  await writeWorldFile(to, recipe === undefined ? setting : withRecipe(setting, recipe));
}

/** Loads a folder's tokenizer. */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const { Tokenizer } = await import("../../../lib/text/tokenizers/tokenizer.ts");
  return Tokenizer.load(folder);
}

/** Loads a folder's chat template; undefined when it has none. */
export async function loadChatTemplate(folder: string): Promise<ChatTemplate | undefined> {
  const { ChatTemplate } = await import("../../../lib/text/templates/chat-template.ts");
  return ChatTemplate.load(folder);
}

/** Loads a folder's tokenizer; undefined when there is none, for commands that work on ids. */
export async function findTokenizer(folder: string): Promise<Tokenizer | undefined> {
  // A file, such as one of GGUF, is no folder to look into.
  const files = await readdir(folder).catch(() => undefined);
  const hasOne = files?.some((file) => file === "tokenizer.json" || file.endsWith(".model")) ?? true;
  return hasOne ? loadTokenizer(folder) : undefined;
}

/**
 * Ids that were given, or those of a text with the marks that begin one.
 *
 * @param given - one of both, and the model's folder for the message
 * @param tokenizer - the model's
 * @param flag - of the text
 * @throws UsageError for a text where the model has no tokenizer
 */
export function idsOf(
  { text, ids, model }: { readonly text?: string; readonly ids?: readonly number[]; readonly model: string },
  tokenizer: Tokenizer | undefined,
  flag: string,
): Int32Array {
  if (ids !== undefined) return Int32Array.from(ids);
  if (tokenizer) return tokenizer.encode(text ?? "", { addSpecialTokens: true });
  throw new UsageError(`${model} has no tokenizer: expected --ids instead of ${flag}`);
}

/** Opens an engine on a policy. */
export async function openEngine(policy: Policy, options: EngineOptions): Promise<Engine> {
  const { Engine } = await import("../../../lib/engine/engine.ts");
  return Engine.open(policy, options);
}

/** Text from ids as they come. */
export async function openDetokenizer(tokenizer: Tokenizer): Promise<Detokenizer> {
  const { Detokenizer } = await import("../../../lib/text/tokenizers/detokenizer.ts");
  return new Detokenizer(tokenizer);
}

/** Opens a policy with its engine, tokenizer and chat template. */
export async function openLocalPolicy(
  { cacheGib, ...choice }: EngineChoice,
  io: Warned,
): Promise<LocalPolicy> {
  const { openLocalPolicy: open } = await import("../../../lib/engine/local-policy.ts");
  return open(
    await shared(await placed(choice, io)),
    cacheGib === undefined ? {} : { cacheBytes: cacheGib * 2 ** 30 },
  );
}
