/** Text to token ids and back, from the files of a Hugging Face folder. */

import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { checkArgument, checkOptions, type OptionKinds } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { readBytes } from "../../base/files/regular-file.ts";
import { isGguf } from "../../base/gguf/gguf.ts";
import type { Codec, Marks, PairMarks } from "./codec.ts";
import { readGgufTokenizer } from "./gguf/gguf-tokenizer.ts";
import { codecFromJson, tokenizerJsonSchema } from "./json/tokenizer-json.ts";
import { newTextDecoder, PieceJoiner, type PieceTable } from "./pieces.ts";
import { withRows } from "./rows.ts";
import { codecFromSentencePiece, sentencePieceIds } from "./sentencepiece/sentencepiece.ts";
import { readSentencePieceModel } from "./sentencepiece/sentencepiece-model.ts";
import {
  readJson,
  readTokenizerConfig,
  resolveSpecialIds,
  type SpecialIds,
  type TokenizerConfig,
} from "./special-ids.ts";

/** How {@link Tokenizer.encode} reads a text. */
export interface EncodeOptions {
  /** Put the marks around the text that the tokenizer's template asks for (BOS, [CLS]...). @default false */
  readonly addSpecialTokens?: boolean;
  /**
   * Read `<|im_end|>` in the text as that one token. Set it to false for text that others wrote, such as passages.
   * @default true
   */
  readonly parseSpecialTokens?: boolean;
  /** Begin with the marks that begin a text (BOS), unless the text spells them itself. @default false */
  readonly beginsText?: boolean;
}

const encodeKinds: OptionKinds<EncodeOptions> = {
  addSpecialTokens: "boolean",
  parseSpecialTokens: "boolean",
  beginsText: "boolean",
};

/** How {@link Tokenizer.decode} writes ids. */
export interface DecodeOptions {
  /** Leave out tokens that are no text. @default false */
  readonly skipSpecialTokens?: boolean;
}

/**
 * A tokenizer: one vocabulary with its exact encoder. It holds no native resource and never changes.
 *
 * @example
 * const tokenizer = await Tokenizer.load("models/qwen2.5-0.5b");
 * const ids = tokenizer.encode("Who founded Citibank?");
 * tokenizer.decode(ids); // "Who founded Citibank?"
 */
export class Tokenizer {
  readonly #codec: Codec;
  readonly #specialIds: ReadonlySet<number>;
  /** The id that begins a text, where the model has one. */
  readonly bosId: number | undefined;
  /** The id that fills up rows, where the model has one. */
  readonly padId: number | undefined;
  /** The ids that end a turn or a text; the tokenizer's own comes first. */
  readonly eosIds: readonly number[];
  /** Tokens that are no text, with their ids. */
  readonly specialTokens: ReadonlyMap<string, number>;

  /** Use {@link Tokenizer.load}. */
  constructor(codec: Codec, ids: SpecialIds) {
    this.#codec = codec;
    this.#specialIds = new Set(codec.specials.values());
    this.bosId = ids.bosId;
    this.padId = ids.padId;
    this.eosIds = ids.eosIds;
    this.specialTokens = codec.specials;
  }

  /**
   * Loads tokenizer.json, or else the SentencePiece model of the folder, with tokenizer_config.json,
   * special_tokens_map.json, generation_config.json and config.json beside it where they exist; or what a GGUF file holds.
   *
   * @param path a model's folder, a GGUF file, or the tokenizer file itself
   * @returns the tokenizer; there is nothing to close
   * @throws ERR_IO when there is no tokenizer, ERR_FORMAT when a file is malformed or uses an unknown part
   */
  static async load(path: string): Promise<Tokenizer> {
    checkArgument("Tokenizer.load: path", path, "string");
    const tokenizer = await loadFrom(path);
    paths.set(tokenizer, path);
    return tokenizer;
  }

  /** The ids that special tokens put around a text. */
  get marks(): Marks {
    return this.#codec.template;
  }

  /** The ids around and between two texts that are read together; undefined when the tokenizer has no such form. */
  get pairMarks(): PairMarks | undefined {
    return this.#codec.pair;
  }

  /** One more than the largest id. */
  get vocabSize(): number {
    return this.#codec.pieces.size;
  }

  /** The bytes of every id, for those who put text together themselves. */
  get pieces(): PieceTable {
    return this.#codec.pieces;
  }

  /**
   * Turns text into ids.
   *
   * @param text any text
   * @param options which marks to add, and whether those in the text are read as tokens
   * @returns ids i32 [T]
   * @throws ERR_ARGUMENT for what is no text, an unknown key, and when a word is not in a vocabulary that has no token for unknown
   */
  encode(text: string, options: EncodeOptions = {}): Int32Array {
    checkArgument("tokenizer.encode: text", text, "string");
    checkOptions("tokenizer.encode", options, encodeKinds);
    const { addSpecialTokens = false, parseSpecialTokens = true, beginsText = false } = options;
    const ids = this.#codec.encode(text, { parseSpecialTokens });
    const { prefix, suffix } = this.#codec.template;
    if (beginsText && prefix.some((id, i) => ids[i] !== id)) return Int32Array.from([...prefix, ...ids]);
    if (!addSpecialTokens) return Int32Array.from(ids);
    return Int32Array.from([...prefix, ...ids, ...suffix]);
  }

  /**
   * Turns ids into text; bytes that are not UTF-8 become U+FFFD.
   *
   * @param ids token ids
   * @param options whether marks are left out
   * @returns the text
   * @throws ERR_RANGE for an id outside of the vocabulary
   */
  decode(ids: Iterable<number>, options: DecodeOptions = {}): string {
    checkOptions("tokenizer.decode", options, { skipSpecialTokens: "boolean" });
    const { skipSpecialTokens = false } = options;
    const joiner = new PieceJoiner(this.#codec.pieces);
    const parts: Uint8Array[] = [];
    for (const id of ids) {
      if (!skipSpecialTokens || !this.#specialIds.has(id)) parts.push(joiner.next(id));
    }
    return newTextDecoder().decode(Buffer.concat(parts));
  }

  /**
   * The raw bytes of one id, as they stand in the middle of a text; they may be part of a character.
   *
   * @param id a token id
   * @returns its bytes; empty where the vocabulary has a hole
   * @throws ERR_RANGE for an id outside of the vocabulary
   */
  tokenBytes(id: number): Uint8Array {
    return this.#codec.pieces.bytes(id);
  }

  /**
   * Finds a token.
   *
   * @param token the vocabulary's own spelling, for example `<|im_end|>`
   * @returns its id; undefined when the vocabulary has no such token
   */
  idOf(token: string): number | undefined {
    return this.#codec.ids.get(token);
  }

  /**
   * Names an id.
   *
   * @param id a token id
   * @returns the vocabulary's own spelling; undefined for an id that has none
   */
  tokenOf(id: number): string | undefined {
    return this.#codec.tokens[id];
  }

  /**
   * Tells marks from text.
   *
   * @param id a token id
   * @returns whether it is a mark, such as the end of a turn
   */
  isSpecial(id: number): boolean {
    return this.#specialIds.has(id);
  }
}

const paths = new WeakMap<object, string>();

/** What a tokenizer was loaded from, so that another thread can load it too; undefined for one that was not. @internal */
export function pathOf(tokenizer: object): string | undefined {
  return paths.get(tokenizer);
}

async function loadFrom(path: string): Promise<Tokenizer> {
  if (isGguf(path)) return loadGguf(path);
  const file = await findTokenizer(path);
  const config = await readTokenizerConfig(dirname(file));
  return file.endsWith(".json") ? loadJson(file, config) : loadSentencePiece(file, config);
}

/** The tokenizer file that `path` names: itself, or what a folder holds. */
async function findTokenizer(path: string): Promise<string> {
  const files = await readdir(path).catch((cause) => {
    if (cause.code === "ENOTDIR") return undefined;
    throw new SeekError("ERR_IO", `${path}: cannot be read: ${cause.message}`, { cause });
  });
  if (files === undefined) return path;
  const models = files.filter((file) => file.endsWith(".model"));
  const known = ["tokenizer.json", "tokenizer.model", "spiece.model"].find((file) => files.includes(file));
  const found = known ?? (models.length === 1 ? models[0] : undefined);
  if (found !== undefined) return join(path, found);
  throw new SeekError("ERR_IO", `${path}: expected tokenizer.json or one *.model file, got ${models.length}`);
}

async function loadGguf(path: string): Promise<Tokenizer> {
  const { codec, ids } = await readGgufTokenizer(path);
  return new Tokenizer(codec, ids);
}

async function loadJson(file: string, config: TokenizerConfig): Promise<Tokenizer> {
  const json = await readJson(file, tokenizerJsonSchema());
  if (json === undefined) throw new SeekError("ERR_IO", `${file}: no such file`);
  const codec = codecFromJson(file, json, config.declared);
  const listed = new Set(json.added_tokens.map(({ content }) => content));
  const declared = config.declared.filter(({ content }) => !listed.has(content));
  return new Tokenizer(
    withRows(codec, declared, config.ids.vocab_size ?? undefined),
    resolveSpecialIds(config, (token) => codec.ids.get(token)),
  );
}

async function loadSentencePiece(file: string, config: TokenizerConfig): Promise<Tokenizer> {
  const model = readSentencePieceModel(file, await readBytes(file));
  const { add_bos_token, add_eos_token } = config.tokens;
  const codec = codecFromSentencePiece(model, {
    addBos: add_bos_token ?? true,
    addEos: add_eos_token ?? false,
  });
  const other = config.declared.find(({ content }) => !codec.ids.has(content));
  if (other !== undefined) {
    const remedy = "Remedy: save the tokenizer with transformers, which writes tokenizer.json";
    const message = `${other.from}: ${other.content} is no token of ${basename(file)}. ${remedy}`;
    throw new SeekError("ERR_FORMAT", `${dirname(file)}: ${message}`);
  }
  return new Tokenizer(
    withRows(codec, [], config.ids.vocab_size ?? undefined),
    resolveSpecialIds(config, (token) => codec.ids.get(token), sentencePieceIds(model)),
  );
}
