/** The tokenizer of a GGUF file: its `tokenizer.ggml.*` keys as a tokenizer.json or a SentencePiece model. */
import { SeekError } from "../../../base/errors.ts";
import { type GgufFile, readGguf } from "../../../base/gguf/gguf.ts";
import type { GgufValue } from "../../../base/gguf/gguf-cursor.ts";
import type { Codec } from "../codec.ts";
import { codecFromJson, tokenizerJsonSchema } from "../json/tokenizer-json.ts";
import { codecFromSentencePiece } from "../sentencepiece/sentencepiece.ts";
import { pieceTypes } from "../sentencepiece/sentencepiece-model.ts";
import type { SpecialIds } from "../special-ids.ts";

const prefix = "tokenizer.ggml.";

/** How text is cut before BPE, by `tokenizer.ggml.pre`; llama.cpp's names (llama-vocab.cpp). */
interface Cut {
  readonly normalizer?: object;
  readonly preTokenizers: readonly object[];
  /** A piece that is a token stays whole. */
  readonly keepsWhole?: boolean;
  /** Whether BOS begins a text where the file does not say. */
  readonly addsBos?: boolean;
}

const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false };
const words = { ...bytes, use_regex: true };
const split = (Regex: string) => ({ type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false });
/** The pattern of Llama 3 and Qwen 2, which differ in how many digits go together. */
const pattern = (digits: string) =>
  split(
    `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
  );
const llama3: Cut = { preTokenizers: [pattern("\\p{N}{1,3}"), bytes], keepsWhole: true, addsBos: true };
const cuts: Readonly<Record<string, Cut>> = {
  "gpt-2": { preTokenizers: [words] },
  "llama-bpe": llama3,
  "llama-v3": llama3,
  llama3,
  qwen2: { normalizer: { type: "NFC" }, preTokenizers: [pattern("\\p{N}"), bytes] },
  smollm: { preTokenizers: [{ type: "Digits", individual_digits: true }, words] },
};

/** What the metadata says, checked where it is read. */
class Metadata {
  readonly #file: GgufFile;

  constructor(file: GgufFile) {
    this.#file = file;
  }

  get path(): string {
    return this.#file.path;
  }

  wrong(key: string, message: string): SeekError {
    return new SeekError("ERR_FORMAT", `${this.path}: ${prefix}${key}: ${message}`);
  }

  #optional<Value extends GgufValue>(key: string, type: "number" | "boolean" | "string"): Value | undefined {
    const value = this.#file.metadata.get(prefix + key);
    if (value === undefined || typeof value === type) return value as Value | undefined;
    throw this.wrong(key, `expected a ${type}`);
  }

  text = (key: string): string | undefined => this.#optional(key, "string");
  flag = (key: string): boolean | undefined => this.#optional(key, "boolean");
  id = (key: string): number | undefined => this.#optional(`${key}_token_id`, "number");

  list<Value extends GgufValue>(key: string, type: "number" | "string"): readonly Value[] | undefined {
    const value = this.#file.metadata.get(prefix + key);
    if (value === undefined || (Array.isArray(value) && value.every((each) => typeof each === type)))
      return value as readonly Value[] | undefined;
    throw this.wrong(key, `expected a list of ${type}s`);
  }
}

interface Token {
  readonly text: string;
  /** As in SentencePiece. */
  readonly type: number;
}

function readTokens(values: Metadata): Token[] {
  const tokens = values.list<string>("tokens", "string") ?? [];
  const tokenTypes = values.list<number>("token_type", "number");
  if (tokens.length === 0) throw values.wrong("tokens", "is missing");
  if (tokenTypes !== undefined && tokenTypes.length !== tokens.length)
    throw values.wrong("token_type", `expected ${tokens.length} types, got ${tokenTypes.length}`);
  return tokens.map((text, id) => ({ text, type: tokenTypes?.[id] ?? pieceTypes.normal }));
}

function bpeCodec(values: Metadata, tokens: readonly Token[]): Codec {
  const name = values.text("pre") ?? "gpt-2";
  const cut = Object.hasOwn(cuts, name) ? cuts[name] : undefined;
  if (cut === undefined) throw values.wrong("pre", `expected ${Object.keys(cuts).join(", ")}, got ${name}`);
  const bosId = values.id("bos");
  const bos = bosId === undefined ? undefined : tokens[bosId]?.text;
  const addsBos = bos !== undefined && (values.flag("add_bos_token") ?? cut.addsBos ?? false);
  const marked = (type: number): boolean => type === pieceTypes.control || type === pieceTypes.userDefined;
  const text = { Sequence: { id: "A", type_id: 0 } };
  const json = {
    version: "1.0",
    added_tokens: tokens.flatMap(({ text: content, type }, id) =>
      marked(type) ? [{ id, content, special: type === pieceTypes.control }] : [],
    ),
    normalizer: cut.normalizer ?? null,
    pre_tokenizer: { type: "Sequence", pretokenizers: cut.preTokenizers },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(
        tokens.flatMap(({ text: token, type }, id) => (type === pieceTypes.unused ? [] : [[token, id]])),
      ),
      merges: values.list<string>("merges", "string") ?? [],
      ignore_merges: cut.keepsWhole ?? false,
    },
    decoder: bytes,
    post_processor: addsBos
      ? {
          type: "TemplateProcessing",
          single: [{ SpecialToken: { id: bos, type_id: 0 } }, text],
          pair: [{ SpecialToken: { id: bos, type_id: 0 } }, text, { Sequence: { id: "B", type_id: 1 } }],
          special_tokens: { [bos]: { id: bos, ids: [bosId], tokens: [bos] } },
        }
      : null,
  };
  return codecFromJson(values.path, tokenizerJsonSchema().parse(json));
}

function sentencePieceCodec(values: Metadata, tokens: readonly Token[]): Codec {
  const scores = values.list<number>("scores", "number") ?? [];
  if (scores.length !== tokens.length)
    throw values.wrong("scores", `expected ${tokens.length} numbers, got ${scores.length}`);
  const model = {
    pieces: tokens.map(({ text, type }, id) => ({ text, type, score: scores[id] ?? 0 })),
    algorithm: "bpe" as const,
    unkId: values.id("unknown") ?? 0,
    bosId: values.id("bos") ?? -1,
    eosId: values.id("eos") ?? -1,
    padId: values.id("padding") ?? -1,
    unkSurface: " \u2047 ",
    hasByteFallback: tokens.some(({ type }) => type === pieceTypes.byte),
    isSpaceSuffix: false,
    charsMap: Uint8Array.from(values.list<number>("precompiled_charsmap", "number") ?? []),
    addDummyPrefix: values.flag("add_space_prefix") ?? true,
    removeExtraSpaces: values.flag("remove_extra_whitespaces") ?? false,
    escapeSpaces: true,
  };
  return codecFromSentencePiece(model, {
    addBos: values.flag("add_bos_token") ?? true,
    addEos: values.flag("add_eos_token") ?? false,
  });
}

/** A codec and the ids with a meaning. */
export interface GgufTokenizer {
  readonly codec: Codec;
  readonly ids: SpecialIds;
}

/**
 * Reads the tokenizer of a GGUF file.
 *
 * @param path the file
 * @returns codec and special ids; ids that end a text are those of EOS, EOT and EOM
 * @throws ERR_IO when it cannot be read; ERR_FORMAT when it is malformed, or of a kind that is not known here
 */
export async function readGgufTokenizer(path: string): Promise<GgufTokenizer> {
  const file = await readGguf(path);
  const values = new Metadata(file);
  const model = values.text("model");
  const tokens = readTokens(values);
  if (model !== "gpt2" && model !== "llama")
    throw values.wrong("model", `expected gpt2 or llama, got ${model}`);
  const codec = model === "gpt2" ? bpeCodec(values, tokens) : sentencePieceCodec(values, tokens);
  const rows = file.tensors.find(({ name }) => name === "token_embd.weight")?.shape[0] ?? 0;
  const ends = [values.id("eos"), values.id("eot"), values.id("eom")];
  return {
    codec: { ...codec, pieces: codec.pieces.withRows(rows) },
    ids: {
      bosId: values.id("bos"),
      padId: values.id("padding"),
      eosIds: [...new Set(ends.filter((id) => id !== undefined))],
    },
  };
}

/** The chat templates of a GGUF file by name, and the texts they may print. */
export async function readGgufTemplates(
  path: string,
): Promise<{ templates: Record<string, string>; variables: Record<string, string> }> {
  const file = await readGguf(path);
  const key = "tokenizer.chat_template";
  const templates = [...file.metadata].flatMap(([name, value]) => {
    const isTemplate = name === key || name.startsWith(`${key}.`);
    return isTemplate && typeof value === "string" ? [[name.slice(key.length + 1) || "default", value]] : [];
  });
  const tokens = readTokens(new Metadata(file));
  const names = { bos: "bos_token", eos: "eos_token", unknown: "unk_token", padding: "pad_token" };
  const variables = Object.entries(names).flatMap(([id, name]) => {
    const text = tokens[Number(file.metadata.get(`${prefix}${id}_token_id`) ?? -1)]?.text;
    return text === undefined ? [] : [[name, text]];
  });
  return { templates: Object.fromEntries(templates), variables: Object.fromEntries(variables) };
}
