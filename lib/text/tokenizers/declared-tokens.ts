/** Tokens that a folder declares beside its tokenizer file, in the order in which transformers 5.18 adds them (tokenization_utils_base.py, line 1848). */
import type { z } from "zod";
import { lazySchema } from "../../base/on-first-use.ts";
import { parsed } from "../../base/parsed.ts";
import type { AddedToken } from "./added-tokens.ts";
import { maxTokenId } from "./json/vocabulary.ts";

/** A token with the id that a file gives it; without one it takes the next that is free, unless the vocabulary has it. */
export interface DeclaredToken
  extends Pick<AddedToken, "content" | "single_word" | "lstrip" | "rstrip" | "special" | "normalized"> {
  readonly id?: number | undefined;
  /** The file that says so. */
  readonly from: string;
}

const flag = lazySchema((z) => z.boolean().optional());
const token = lazySchema((z) =>
  z.looseObject({
    content: z.string(),
    ...{ single_word: flag(), lstrip: flag(), rstrip: flag(), normalized: flag(), special: flag() },
  }),
);
const named = lazySchema((z) => z.union([z.string(), token()]));
const tokenId = lazySchema((z) => z.coerce.number().pipe(z.int().nonnegative().max(maxTokenId)));

const ownFile = "tokenizer_config.json";
const mapFile = "special_tokens_map.json";

/** Tokens with a meaning to every model, in transformers' order. */
const roles = [
  ...(["bos_token", "eos_token", "unk_token", "sep_token", "pad_token"] as const),
  ...(["cls_token", "mask_token"] as const),
];
type Role = (typeof roles)[number];

/** The keys of tokenizer_config.json and special_tokens_map.json that declare tokens. */
export const declaringKeys = lazySchema((z) => ({
  ...(Object.fromEntries(roles.map((role) => [role, named().nullish()])) as Record<
    Role,
    z.ZodOptional<z.ZodNullable<ReturnType<typeof named>>>
  >),
  added_tokens_decoder: z.record(tokenId(), token()).nullish(),
  extra_special_tokens: z.union([z.array(named()), z.record(z.string(), named())]).nullish(),
  additional_special_tokens: z.array(named()).nullish(),
  model_specific_special_tokens: z.record(z.string(), named()).nullish(),
}));

/** added_tokens.json: ids by token. */
export const addedTokensSchema = lazySchema((z) => z.record(z.string(), tokenId()));

const declaringFile = lazySchema((z) => z.looseObject(declaringKeys()));
type Declaring = z.infer<ReturnType<typeof declaringFile>>;
type Named = z.infer<ReturnType<typeof named>>;

/** What stands beside a tokenizer file. */
interface DeclaringFiles {
  /** tokenizer_config.json. */
  readonly own: Declaring;
  /** special_tokens_map.json. */
  readonly map: Declaring;
  /** added_tokens.json. */
  readonly added: Readonly<Record<string, number>>;
}

const contentOf = (value: Named): string => (typeof value === "string" ? value : value.content);

/** A token with its flags; text that is special is not normalised unless a file says so. */
function declared(value: Named, from: string, isSpecial: boolean): DeclaredToken {
  const given = typeof value === "string" ? { content: value } : value;
  const special = isSpecial || given.special === true;
  return {
    content: given.content,
    single_word: given.single_word === true,
    lstrip: given.lstrip === true,
    rstrip: given.rstrip === true,
    normalized: given.normalized ?? !special,
    special,
    from,
  };
}

const listOf = (value: Declaring["extra_special_tokens"]): readonly Named[] =>
  Array.isArray(value) ? value : [];

/** transformers reads the older files only where tokenizer_config.json has no `added_tokens_decoder`; there they win. */
export function mergedRoles({ own, map }: Pick<DeclaringFiles, "own" | "map">): Declaring {
  return own.added_tokens_decoder == null ? { ...own, ...map } : own;
}

function extraTokens(files: DeclaringFiles): Named[] {
  const { own, map } = files;
  // An empty list is none.
  const first =
    listOf(own.extra_special_tokens).length > 0 ? own.extra_special_tokens : own.additional_special_tokens;
  const known = [...listOf(first ?? undefined)];
  if (own.added_tokens_decoder != null) return known;
  const isKnown = (value: Named): boolean => known.some((other) => contentOf(other) === contentOf(value));
  return [...known, ...listOf(map.extra_special_tokens).filter((value) => !isKnown(value))];
}

const tableOf = (value: Declaring["extra_special_tokens"]): readonly Entry[] =>
  value == null || Array.isArray(value) ? [] : Object.entries(value);

type Entry = readonly [key: string, value: Named];

/** What stands at keys such as `image_token`, which are no roles of every model. */
function ownEntries(file: Declaring, from: string, isRead: (value: unknown) => boolean): Entry[] {
  const isOwn = (key: string): boolean =>
    key.endsWith("_token") && !(roles as readonly string[]).includes(key);
  const given = Object.entries(file).filter(([key, value]) => isOwn(key) && isRead(value));
  return given.map(([key, value]) => [key, parsed(named(), value, `${from}: ${key}`)]);
}

const isText = (value: unknown): boolean => typeof value === "string";
const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isTyped = (value: unknown): boolean =>
  isObject(value) && (value as { __type?: unknown }).__type === "AddedToken";

/**
 * Tokens that only this model names: `image_token`, or an object of them. Of tokenizer_config.json, keys of texts and
 * `extra_special_tokens` take the place of `model_specific_special_tokens` (tokenization_utils_base.py, lines 1827, 1087).
 */
function ownRoles({ own, map }: DeclaringFiles): Named[] {
  const isOld = own.added_tokens_decoder == null;
  const given = [...ownEntries(own, ownFile, isText), ...tableOf(own.extra_special_tokens)];
  const tokens = [
    ...ownEntries(own, ownFile, isTyped),
    ...(isOld ? ownEntries(map, mapFile, (value) => isText(value) || isObject(value)) : []),
    ...(given.length > 0 ? given : Object.entries(own.model_specific_special_tokens ?? {})),
    ...(isOld ? tableOf(map.extra_special_tokens) : []),
  ];
  // The last of a name, in the place of its first.
  return Object.values(Object.fromEntries(tokens));
}

function withIds(files: DeclaringFiles, specials: ReadonlySet<string>): DeclaredToken[] {
  const { added_tokens_decoder: decoder } = files.own;
  const isOwn = new Set(ownRoles(files).map(contentOf));
  const read = (value: Named, from: string, id: number) => {
    const token = declared(value, from, specials.has(contentOf(value)));
    // These are left out of decoded text too, but are normalised as other tokens are.
    return { ...token, special: token.special === true || isOwn.has(token.content), id };
  };
  const tokens =
    decoder == null
      ? Object.entries(files.added).map(([content, id]) => read(content, "added_tokens.json", id))
      : Object.entries(decoder).map(([id, value]) =>
          read(value, `${ownFile}: added_tokens_decoder`, Number(id)),
        );
  return tokens.sort((a, b) => a.id - b.id);
}

/** Every token that the files declare, each once. */
export function declaredTokens(files: DeclaringFiles): DeclaredToken[] {
  const merged = mergedRoles(files);
  const from = merged === files.own ? ownFile : `${ownFile} or ${mapFile}`;
  const values = roles.flatMap((role) => merged[role] ?? []);
  const extra = extraTokens(files);
  const isOld = extra.length === 0 && files.own.added_tokens_decoder == null;
  // Too late to make those of added_tokens.json special.
  const late = isOld ? listOf(files.map.additional_special_tokens ?? undefined) : [];
  const named = [...values, ...ownRoles(files)].map((value) => declared(value, from, true));
  // Of the extra ones an object says itself whether it is special.
  const more = [...extra, ...late].map((value) => declared(value, from, typeof value === "string"));
  const specials = new Set(
    [...values, ...(files.own.added_tokens_decoder == null ? extra : [])].map(contentOf),
  );
  const tokens = new Map<string, DeclaredToken>();
  for (const each of [...withIds(files, specials), ...named, ...more])
    if (!tokens.has(each.content)) tokens.set(each.content, each);
  return [...tokens.values()];
}
