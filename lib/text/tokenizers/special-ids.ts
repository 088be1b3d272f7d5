/** Which ids begin, end and pad a text, read from the JSON files beside a tokenizer. */
import { join } from "node:path";
import type { z } from "zod";
import { SeekError } from "../../base/errors.ts";
import { findText } from "../../base/files/regular-file.ts";
import { lazySchema } from "../../base/on-first-use.ts";
import {
  addedTokensSchema,
  type DeclaredToken,
  declaredTokens,
  declaringKeys,
  mergedRoles,
} from "./declared-tokens.ts";

/** A token as text: a string, or an object with its content. */
export const tokenText = lazySchema((z) =>
  z.union([z.string(), z.looseObject({ content: z.string() }).transform((token) => token.content)]),
);
const idList = lazySchema((z) =>
  z.union([z.int(), z.array(z.int())]).transform((ids) => (typeof ids === "number" ? [ids] : ids)),
);

/** The keys of tokenizer_config.json and special_tokens_map.json that are used here. */
const tokenizerConfigSchema = lazySchema((z) =>
  z.looseObject({
    ...declaringKeys(),
    add_bos_token: z.boolean().nullish(),
    add_eos_token: z.boolean().nullish(),
  }),
);

const modelConfigSchema = lazySchema((z) =>
  z.looseObject({
    bos_token_id: z.int().nullish(),
    eos_token_id: idList().nullish(),
    pad_token_id: z.int().nullish(),
    vocab_size: z.int().positive().nullish(),
  }),
);

/** What the files beside a tokenizer say. */
export interface TokenizerConfig {
  /** tokenizer_config.json and special_tokens_map.json, merged as transformers merges them. */
  readonly tokens: z.infer<ReturnType<typeof tokenizerConfigSchema>>;
  /** Tokens that these two and added_tokens.json declare. */
  readonly declared: readonly DeclaredToken[];
  /** Ids from generation_config.json, or from config.json where that has none, and the model's number of rows. */
  readonly ids: z.infer<ReturnType<typeof modelConfigSchema>>;
}

/** Ids with a meaning to a language model. */
export interface SpecialIds {
  readonly bosId: number | undefined;
  readonly padId: number | undefined;
  /** Every id that ends a turn or a text, the tokenizer's own first. */
  readonly eosIds: readonly number[];
}

/**
 * Reads a JSON file and checks its shape.
 *
 * @returns undefined when there is no such file
 * @throws ERR_FORMAT naming the file and the first thing wrong, ERR_IO when it cannot be read
 */
export async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await findText(path);
  return text === undefined ? undefined : checkedJson(path, text, schema);
}

function checkedJson<T>(path: string, text: string, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: expected JSON: ${(cause as Error).message}`, { cause });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const expected = issue === undefined ? "" : messageOf(issue);
  throw new SeekError("ERR_FORMAT", `${path}: ${issue?.path.join(".") || "content"}: ${expected}`);
}

/** Of a value that may have several forms, what each of them expects. */
function messageOf(issue: z.core.$ZodIssue): string {
  const nested = issue.code === "invalid_union" ? issue.errors.flat().map(messageOf) : [];
  return nested.length > 0
    ? [...new Set(nested)].join(", or ")
    : issue.message.replace(/^Invalid input: /, "");
}

/** Reads the JSON files beside a tokenizer; those that are missing say nothing. @throws ERR_FORMAT, ERR_IO */
export async function readTokenizerConfig(folder: string): Promise<TokenizerConfig> {
  const own = (await readJson(join(folder, "tokenizer_config.json"), tokenizerConfigSchema())) ?? {};
  const map = (await readJson(join(folder, "special_tokens_map.json"), tokenizerConfigSchema())) ?? {};
  const added = (await readJson(join(folder, "added_tokens.json"), addedTokensSchema())) ?? {};
  const generation = await readJson(join(folder, "generation_config.json"), modelConfigSchema());
  const model = await readJson(join(folder, "config.json"), modelConfigSchema());
  const files = { own, map, added };
  return { tokens: mergedRoles(files), declared: declaredTokens(files), ids: { ...model, ...generation } };
}

/**
 * Resolves the special ids: tokens named by the tokenizer win; ids of the model's configuration are added for the end
 * of text and fill in what the tokenizer leaves open.
 */
export function resolveSpecialIds(
  config: TokenizerConfig,
  idOf: (token: string) => number | undefined,
  fallback: Partial<SpecialIds> = {},
): SpecialIds {
  const named = (key: "bos_token" | "eos_token" | "pad_token"): number | undefined => {
    const token = config.tokens[key];
    return token == null ? undefined : idOf(typeof token === "string" ? token : token.content);
  };
  const isSilent = (key: "bos_token" | "pad_token"): boolean => config.tokens[key] === undefined;
  const eos = named("eos_token");
  const eosIds = [...(eos === undefined ? [] : [eos]), ...(config.ids.eos_token_id ?? [])];
  return {
    bosId:
      named("bos_token") ?? (isSilent("bos_token") ? (config.ids.bos_token_id ?? fallback.bosId) : undefined),
    padId:
      named("pad_token") ?? (isSilent("pad_token") ? (config.ids.pad_token_id ?? fallback.padId) : undefined),
    eosIds: eosIds.length > 0 ? [...new Set(eosIds)] : [...(fallback.eosIds ?? [])],
  };
}
