/** The tokenizer of a GGUF file: its `tokenizer.ggml.*` keys as a tokenizer.json or a SentencePiece model. */
import { readGguf } from "../../../base/gguf/gguf.ts";
import { GgufMetadata } from "../../../base/gguf/gguf-metadata.ts";
import type { Codec } from "../codec.ts";
import { codecFromJson, tokenizerJsonSchema } from "../json/tokenizer-json.ts";
import { codecFromSentencePiece } from "../sentencepiece/sentencepiece.ts";
import { pieceTypes, type SentencePieceModel } from "../sentencepiece/sentencepiece-model.ts";
import { writeSentencePieceModel } from "../sentencepiece/write-sentencepiece.ts";
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

const idOf = (values: GgufMetadata, name: string): number | undefined => values.number(`${name}_token_id`);

interface Token {
  readonly text: string;
  /** As in SentencePiece. */
  readonly type: number;
}

function readTokens(values: GgufMetadata): Token[] {
  const tokens = values.list<string>("tokens", "string") ?? [];
  const tokenTypes = values.list<number>("token_type", "number");
  if (tokens.length === 0) throw values.wrong("tokens", "is missing");
  if (tokenTypes !== undefined && tokenTypes.length !== tokens.length)
    throw values.wrong("token_type", `expected ${tokens.length} types, got ${tokenTypes.length}`);
  const read = tokens.map((text, id) => ({ text, type: tokenTypes?.[id] ?? pieceTypes.normal }));
  checkTokens(read, values);
  return read;
}

/** A text that two ids have would be encoded as either; an id without a text ends and begins nothing. */
function checkTokens(tokens: readonly Token[], values: GgufMetadata): void {
  const seen = new Set<string>();
  for (const [id, { text, type }] of tokens.entries()) {
    // llama.cpp names empty texts by their ids.
    if (text === "" || type === pieceTypes.unused) continue;
    if (seen.has(text)) throw values.wrong("tokens", `${JSON.stringify(text)} stands twice, again at ${id}`);
    seen.add(text);
  }
  for (const name of ["bos", "eos", "eot", "eom", "unknown", "padding"]) {
    const id = idOf(values, name);
    if (id === undefined || tokens[id] !== undefined) continue;
    throw values.wrong(`${name}_token_id`, `expected an id of the ${tokens.length} tokens, got ${id}`);
  }
}

/**
 * How text is cut. llama.cpp warns of a file that does not say it and cuts by a rule of its own, which no model was trained
 * with; files of Llama 3 and Qwen2 from before April 2024 are such.
 */
function cutOf(values: GgufMetadata): Cut {
  const name = values.text("pre");
  const known = Object.keys(cuts).join(", ");
  if (name === undefined) {
    const remedy =
      "convert the model again, or gguf-new-metadata --pre-tokenizer NAME (Python's gguf) writes the key";
    throw values.wrong("pre", `is missing; expected ${known}. Remedy: ${remedy}`);
  }
  const cut = Object.hasOwn(cuts, name) ? cuts[name] : undefined;
  if (cut === undefined) throw values.wrong("pre", `expected ${known}, got ${name}`);
  return cut;
}

/** The `post_processor` that puts BOS and EOS around each text where the file says so; null without either. */
function bpeMarks(values: GgufMetadata, tokens: readonly Token[], cut: Cut): object | null {
  const used = { bos: cut.addsBos ?? false, eos: false };
  const marks = (["bos", "eos"] as const).flatMap((name) => {
    const id = idOf(values, name);
    const text = id === undefined ? undefined : tokens[id]?.text;
    return text !== undefined && (values.flag(`add_${name}_token`) ?? used[name]) ? [{ name, id, text }] : [];
  });
  if (marks.length === 0) return null;
  const around = (Sequence: { id: string; type_id: number }): object[] => {
    const mark = (wanted: string) =>
      marks.flatMap(({ name, text: id }) =>
        name === wanted ? [{ SpecialToken: { id, type_id: Sequence.type_id } }] : [],
      );
    return [...mark("bos"), { Sequence }, ...mark("eos")];
  };
  const single = around({ id: "A", type_id: 0 });
  return {
    type: "TemplateProcessing",
    single,
    pair: [...single, ...around({ id: "B", type_id: 1 })],
    special_tokens: Object.fromEntries(
      marks.map(({ id, text }) => [text, { id: text, ids: [id], tokens: [text] }]),
    ),
  };
}

/** As a tokenizer.json. */
function bpeJson(values: GgufMetadata, tokens: readonly Token[]): object {
  const cut = cutOf(values);
  const marked = (type: number): boolean => type === pieceTypes.control || type === pieceTypes.userDefined;
  return {
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
    post_processor: bpeMarks(values, tokens, cut),
  };
}

function sentencePieceModel(values: GgufMetadata, tokens: readonly Token[]): SentencePieceModel {
  const scores = values.list<number>("scores", "number") ?? [];
  if (scores.length !== tokens.length)
    throw values.wrong("scores", `expected ${tokens.length} numbers, got ${scores.length}`);
  return {
    pieces: tokens.map(({ text, type }, id) => ({ text, type, score: scores[id] ?? 0 })),
    algorithm: "bpe",
    unkId: idOf(values, "unknown") ?? 0,
    bosId: idOf(values, "bos") ?? -1,
    eosId: idOf(values, "eos") ?? -1,
    padId: idOf(values, "padding") ?? -1,
    unkSurface: " \u2047 ",
    hasByteFallback: tokens.some(({ type }) => type === pieceTypes.byte),
    isSpaceSuffix: false,
    charsMap: Uint8Array.from(values.list<number>("precompiled_charsmap", "number") ?? []),
    addDummyPrefix: values.flag("add_space_prefix") ?? true,
    removeExtraSpaces: values.flag("remove_extra_whitespaces") ?? false,
    escapeSpaces: true,
  };
}

/** Whether marks stand around a text where the file does not say. */
const sentencePieceMarks = (values: GgufMetadata) => ({
  addBos: values.flag("add_bos_token") ?? true,
  addEos: values.flag("add_eos_token") ?? false,
});

/** `gpt2` is BPE of bytes, `llama` SentencePiece. */
function algorithmOf(values: GgufMetadata): "gpt2" | "llama" {
  const model = values.text("model");
  if (model === "gpt2" || model === "llama") return model;
  throw values.wrong("model", `expected gpt2 or llama, got ${model}`);
}

function codecOf(values: GgufMetadata, tokens: readonly Token[]): Codec {
  return algorithmOf(values) === "gpt2"
    ? codecFromJson(values.path, tokenizerJsonSchema().parse(bpeJson(values, tokens)))
    : codecFromSentencePiece(sentencePieceModel(values, tokens), sentencePieceMarks(values));
}

function eosIdsOf(values: GgufMetadata): number[] {
  const ends = ["eos", "eot", "eom"].map((name) => idOf(values, name));
  return [...new Set(ends.filter((id) => id !== undefined))];
}

/** A codec and the ids with a meaning. */
interface GgufTokenizer {
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
  const values = new GgufMetadata(file, prefix);
  const codec = codecOf(values, readTokens(values));
  const rows = file.tensors.find(({ name }) => name === "token_embd.weight")?.shape[0] ?? 0;
  return {
    codec: { ...codec, pieces: codec.pieces.withRows(rows) },
    ids: { bosId: idOf(values, "bos"), padId: idOf(values, "padding"), eosIds: eosIdsOf(values) },
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
  const tokens = readTokens(new GgufMetadata(file, prefix));
  const names = { bos: "bos_token", eos: "eos_token", unknown: "unk_token", padding: "pad_token" };
  const variables = Object.entries(names).flatMap(([id, name]) => {
    const text = tokens[Number(file.metadata.get(`${prefix}${id}_token_id`) ?? -1)]?.text;
    return text === undefined ? [] : [[name, text]];
  });
  return { templates: Object.fromEntries(templates), variables: Object.fromEntries(variables) };
}

/**
 * The tokenizer and chat templates of a GGUF file as the files of a model folder.
 *
 * @returns contents by file name
 * @throws as {@link readGgufTokenizer}
 */
export async function ggufTokenizerFiles(path: string): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const values = new GgufMetadata(await readGguf(path), prefix);
  const tokens = readTokens(values);
  const { templates, variables } = await readGgufTemplates(path);
  const named = Object.entries(templates).map(([name, template]) => ({ name, template }));
  const isJson = algorithmOf(values) === "gpt2";
  const { addBos, addEos } = sentencePieceMarks(values);
  const config = {
    ...variables,
    ...(!isJson && { add_bos_token: addBos, add_eos_token: addEos }),
    ...(named.length > 0 && { chat_template: named }),
  };
  const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
  return new Map<string, string | Uint8Array>([
    isJson
      ? ["tokenizer.json", json(bpeJson(values, tokens))]
      : ["tokenizer.model", writeSentencePieceModel(sentencePieceModel(values, tokens))],
    ["tokenizer_config.json", json(config)],
    ["generation_config.json", json({ eos_token_id: eosIdsOf(values) })],
  ]);
}
