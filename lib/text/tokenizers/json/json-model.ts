/** The `model` of a tokenizer.json: pieces of text to ids, by BPE, WordPiece, WordLevel or Unigram. */
import type { z } from "zod";
import { SeekError } from "../../../base/errors.ts";
import { lazySchema } from "../../../base/on-first-use.ts";
import { JsonBpe } from "./json-bpe.ts";
import { JsonUnigram } from "./json-unigram.ts";
import { maxTokenId, Vocabulary } from "./vocabulary.ts";

/** A vocabulary with its way to cut pieces. */
export interface JsonModel {
  readonly vocabulary: Vocabulary;
  /** The ids of one piece. */
  encode(piece: string): readonly number[];
}

/** Ids by token, checked by hand: a schema takes seconds for real vocabularies. */
const idsByToken = lazySchema((z) =>
  z.custom<Readonly<Record<string, number>>>(
    (value) =>
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value) &&
      Object.values(value).every((id) => Number.isInteger(id) && id >= 0 && id <= maxTokenId),
    `expected ids from 0 to ${maxTokenId} by token`,
  ),
);
const merges = lazySchema((z) =>
  z.custom<readonly (string | readonly [string, string])[]>(
    (value) => Array.isArray(value) && value.every((merge) => typeof merge === "string" || isPair(merge)),
    'expected merges as "a b" or ["a", "b"]',
  ),
);
const scores = lazySchema((z) =>
  z.custom<readonly (readonly [string, number])[]>(
    (value) =>
      Array.isArray(value) && value.length > 0 && value.length <= maxTokenId && value.every(isScored),
    "expected tokens with their scores",
  ),
);

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string");
}

function isScored(value: unknown): boolean {
  return (
    Array.isArray(value) && value.length === 2 && typeof value[0] === "string" && Number.isFinite(value[1])
  );
}

const flag = lazySchema((z) => z.boolean().nullish());
/** Older files write an empty string for none. */
const none = lazySchema((z) => z.literal("").nullish());

/** Files from before models had a type: the reference tells them apart by their keys. */
function withType(file: unknown): unknown {
  if (typeof file !== "object" || file === null || "type" in file) return file;
  const isUnigram = "vocab" in file && Array.isArray(file.vocab);
  const type = isUnigram
    ? "Unigram"
    : "merges" in file
      ? "BPE"
      : "max_input_chars_per_word" in file
        ? "WordPiece"
        : "WordLevel";
  return { type, ...file };
}

/** The keys of each kind of model; what is not here or has another value is not supported. */
const modelFile = lazySchema((z) =>
  z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("BPE"),
      vocab: idsByToken(),
      merges: merges(),
      dropout: z.literal(0).nullish(),
      unk_token: z.string().nullish(),
      continuing_subword_prefix: none(),
      end_of_word_suffix: none(),
      fuse_unk: flag(),
      byte_fallback: flag(),
      ignore_merges: flag(),
    }),
    z.strictObject({
      type: z.literal("WordPiece"),
      vocab: idsByToken(),
      unk_token: z.string().default("[UNK]"),
      continuing_subword_prefix: z.string().default("##"),
      max_input_chars_per_word: z.int().nonnegative().default(100),
    }),
    z.strictObject({
      type: z.literal("WordLevel"),
      vocab: idsByToken(),
      unk_token: z.string().default("<unk>"),
    }),
    z.strictObject({
      type: z.literal("Unigram"),
      vocab: scores(),
      unk_id: z.int().nonnegative().nullish(),
      byte_fallback: flag(),
    }),
  ]),
);

/** The `model` of a tokenizer.json. */
export const modelSchema = lazySchema((z) => z.preprocess(withType, modelFile()));

type ModelFile = z.infer<ReturnType<typeof modelFile>>;
type WordPieceFile = Extract<ModelFile, { type: "WordPiece" }>;

function wordLevel(vocabulary: Vocabulary, unkToken: string): JsonModel {
  return {
    vocabulary,
    encode: (piece) => [vocabulary.idOf(piece) ?? unknownId(vocabulary, unkToken, piece)],
  };
}

function unknownId(vocabulary: Vocabulary, unkToken: string, piece: string): number {
  const id = vocabulary.idOf(unkToken);
  if (id !== undefined) return id;
  throw new SeekError(
    "ERR_ARGUMENT",
    `text: "${piece}" is not in the vocabulary, which has no token for unknown`,
  );
}

/** The longest token first, then the longest that continues; a word with a rest is unknown as a whole. */
function wordPiece(vocabulary: Vocabulary, file: WordPieceFile): JsonModel {
  const { unk_token, continuing_subword_prefix: prefix, max_input_chars_per_word } = file;
  const longest = (
    chars: readonly string[],
    start: number,
  ): readonly [id: number, end: number] | undefined => {
    for (let end = chars.length; end > start; --end) {
      const id = vocabulary.idOf((start > 0 ? prefix : "") + chars.slice(start, end).join(""));
      if (id !== undefined) return [id, end];
    }
    return undefined;
  };
  const encode = (piece: string): number[] => {
    const chars = [...piece];
    const ids: number[] = [];
    for (let start = 0; start < chars.length; ) {
      const found = chars.length > max_input_chars_per_word ? undefined : longest(chars, start);
      if (found === undefined) return [unknownId(vocabulary, unk_token, piece)];
      ids.push(found[0]);
      start = found[1];
    }
    return ids;
  };
  return { vocabulary, encode };
}

/**
 * Builds a model.
 *
 * @throws ERR_FORMAT when a merge or the unknown token is not in the vocabulary
 */
export function buildModel(file: ModelFile): JsonModel {
  switch (file.type) {
    case "BPE":
      return new JsonBpe(new Vocabulary(file.vocab), file);
    case "WordPiece":
      return wordPiece(new Vocabulary(file.vocab), file);
    case "WordLevel":
      return wordLevel(new Vocabulary(file.vocab), file.unk_token);
    case "Unigram":
      return new JsonUnigram(file);
  }
}
