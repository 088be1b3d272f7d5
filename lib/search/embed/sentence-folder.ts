/** What a sentence-transformers folder says beside its model: modules, pooling, prompts, the longest text. */
import { join } from "node:path";
import { SeekError } from "../../base/errors.ts";
import { lazySchema } from "../../base/on-first-use.ts";
import { readJson } from "../../text/tokenizers/special-ids.ts";

/** Which of a text's last states becomes its vector. */
export type Pooling = "cls" | "mean" | "last";

/** The settings of a sentence-transformers folder; undefined where it says nothing. */
export interface SentenceSettings {
  /** Holds config.json, the tokenizer and the weights. */
  readonly modelFolder: string;
  readonly pooling: Pooling | undefined;
  readonly isNormalised: boolean;
  /** Tokens of a text, marks included. */
  readonly maxTokens: number | undefined;
  readonly lowerCase: boolean;
  readonly queryPrefix: string | undefined;
  readonly passagePrefix: string | undefined;
}

const modulesSchema = lazySchema((z) => z.array(z.looseObject({ type: z.string(), path: z.string() })));
const poolingSchema = lazySchema((z) =>
  z.looseObject({
    pooling_mode: z.union([z.string(), z.array(z.string())]).optional(),
    include_prompt: z.boolean().nullish(),
  }),
);
const promptsSchema = lazySchema((z) =>
  z.looseObject({
    prompts: z.record(z.string(), z.string().nullable()).nullish(),
    default_prompt_name: z.string().nullish(),
  }),
);
const lengthSchema = lazySchema((z) =>
  z.looseObject({
    max_seq_length: z.number().int().positive().nullish(),
    do_lower_case: z.boolean().nullish(),
  }),
);
const tokenizerSchema = lazySchema((z) =>
  z.looseObject({ model_max_length: z.number().positive().nullish() }),
);

/** The spelling of a pooling mode in older folders: one switch each. */
const switches: Readonly<Record<string, string>> = {
  pooling_mode_cls_token: "cls",
  pooling_mode_mean_tokens: "mean",
  pooling_mode_lasttoken: "lasttoken",
  pooling_mode_max_tokens: "max",
  pooling_mode_mean_sqrt_len_tokens: "mean_sqrt_len_tokens",
  pooling_mode_weightedmean_tokens: "weightedmean",
};
const poolings: Readonly<Record<string, Pooling>> = { cls: "cls", mean: "mean", lasttoken: "last" };

async function readPooling(folder: string): Promise<Pooling> {
  const path = join(folder, "config.json");
  const file = await readJson(path, poolingSchema());
  if (file === undefined)
    throw new SeekError("ERR_IO", `${path}: no such file, though modules.json names it`);
  const on = Object.keys(switches).filter((key) => file[key] === true);
  const modes = [file.pooling_mode ?? on.map((key) => switches[key] ?? key)].flat();
  if (file.include_prompt === false)
    throw new SeekError("ERR_FORMAT", `${path}: include_prompt: pooling without the prompt is not supported`);
  const pooling = modes.length === 1 && poolings[modes[0] ?? ""];
  if (pooling) return pooling;
  throw new SeekError(
    "ERR_FORMAT",
    `${path}: pooling: expected cls, mean or lasttoken, got ${modes.join(", ")}`,
  );
}

interface Modules {
  readonly modelFolder: string;
  readonly pooling: Pooling | undefined;
  readonly isNormalised: boolean;
}

/** The modules in order, of which a transformer, pooling and normalisation are known. */
async function readModules(folder: string): Promise<Modules> {
  const path = join(folder, "modules.json");
  const modules = await readJson(path, modulesSchema());
  if (modules === undefined) return { modelFolder: folder, pooling: undefined, isNormalised: false };
  const names = modules.map(({ type }) => type.split(".").at(-1) ?? "");
  const expected = ["Transformer", "Pooling", "Normalize"].slice(0, Math.max(2, names.length));
  if (names.join() !== expected.join())
    throw new SeekError(
      "ERR_FORMAT",
      `${path}: expected Transformer, Pooling and perhaps Normalize, got ${names.join(", ")}`,
    );
  const folderOf = (i: number): string => join(folder, modules[i]?.path ?? "");
  return {
    modelFolder: folderOf(0),
    pooling: await readPooling(folderOf(1)),
    isNormalised: names.length === 3,
  };
}

/** The prompts by the rules of sentence-transformers' encode_query and encode_document. */
async function readPrompts(folder: string): Promise<Pick<SentenceSettings, "queryPrefix" | "passagePrefix">> {
  const file = await readJson(join(folder, "config_sentence_transformers.json"), promptsSchema());
  const prompts = file?.prompts ?? {};
  const common = prompts[file?.default_prompt_name ?? ""] ?? undefined;
  const first = (...names: string[]): string | undefined =>
    names.map((name) => prompts[name]).find((prompt) => typeof prompt === "string") ?? common;
  return { queryPrefix: first("query"), passagePrefix: first("document", "passage", "corpus") };
}

/**
 * Reads modules.json, 1_Pooling/config.json, config_sentence_transformers.json, sentence_bert_config.json and the
 * tokenizer's longest text; a plain Hugging Face folder has none of them.
 *
 * @param folder the model's folder
 * @returns the settings
 * @throws ERR_FORMAT for a file that is malformed or names a module or a pooling that is not supported; ERR_IO
 */
export async function readSentenceFolder(folder: string): Promise<SentenceSettings> {
  const modules = await readModules(folder);
  const length = await readJson(join(modules.modelFolder, "sentence_bert_config.json"), lengthSchema());
  const tokenizer = await readJson(join(modules.modelFolder, "tokenizer_config.json"), tokenizerSchema());
  return {
    ...modules,
    ...(await readPrompts(folder)),
    maxTokens: length?.max_seq_length ?? tokenizer?.model_max_length ?? undefined,
    lowerCase: length?.do_lower_case === true,
  };
}
