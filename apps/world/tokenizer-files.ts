/** The tokenizer of the built-in world: one piece per word or name, bytes for everything else. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SeekError } from "../../lib/base/errors.ts";
import { kChatTemplate } from "./prompt.ts";
import { kNames, kYears } from "./story/names.ts";
import { demonstrations } from "./teachers/demonstrations.ts";
import { kCarefulHabits } from "./teachers/teacher.ts";

/** Tokens that text never spells: padding, the turns of a chat, the end of an answer. */
const kSpecialTokens = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"] as const;

// Pieces longer than a word: tags, and the fixed parts of an observation.
const kPieces = [
  String.raw`\n?<\/?information>\n`,
  String.raw`[ \n]?<\/?[a-z]+>`,
  String.raw`[ \n]?<\|(?:begin|end)_of_[a-z]+\|>`,
  String.raw`\{\n  "query": \[\n    "`,
  String.raw`"\n  \],\n  "documents": \[\n    "`,
  String.raw`",\n    "`,
  String.raw`"\n  \]\n\}`,
  " {3}",
  String.raw`(?:\\n|\n)?Doc \d+:`,
  String.raw`\\n`,
];
// What agents of other recipes write and read; the demonstrations that fill the vocabulary are RAG-R1's. Spelt by the
// letter, a tag is the hardest thing to say.
const kOtherWords = [
  "<plan> </plan>\n<reasoning> </reasoning>\n<backtrack> </backtrack>\n<summary> </summary>\n<search>\n<answer>",
  "<reasoning><backtrack><summary>\n<observation>\nNothing found</observation>\n</observation>",
  "The final answer is \\boxed <result>\n<result> </result>\n</result> \n<information>Doc(Title</information>\n",
  " <|begin_of_query|> <|end_of_query|>\n<|begin_of_documents|>\n<|end_of_documents|>",
  " At Directed Based Since\nAt\nDirected\nBased\nSince\nIn\nThe",
];
const kPattern = [
  ...kPieces,
  " ?[A-Za-z]+",
  String.raw` ?\d+`,
  String.raw` ?[^\sA-Za-z\d]`,
  String.raw`\s`,
].join("|");

/** GPT-2's byte alphabet: every byte as one printable character. */
function byteAlphabet(): string[] {
  const printable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
}

const kAlphabet = byteAlphabet();
const toAlphabet = (text: string): string =>
  [...new TextEncoder().encode(text)].map((byte) => kAlphabet[byte]!).join("");

function collectPieces(): string[] {
  const pattern = new RegExp(kPattern, "gu");
  const pieces = new Set(kOtherWords.flatMap((text) => text.match(pattern) ?? []));
  const sources = [{ seed: 1 }, { seed: 2, habits: kCarefulHabits }];
  for (const source of sources) {
    for (const { segments } of demonstrations({ ...source, count: 2000 })) {
      const text = segments.map((segment) => segment.text.replace(/<\|\w+\|>/g, "")).join("");
      for (const [piece] of text.matchAll(pattern)) pieces.add(piece);
    }
  }
  return [...pieces];
}

function vocabulary(): string[] {
  const names = [...Object.values(kNames).flat(), ...kYears].map((name) => ` ${name}`);
  const known = new Set<string>([...kSpecialTokens, ...kAlphabet, ...names.map(toAlphabet)]);
  for (const piece of collectPieces().sort()) known.add(toAlphabet(piece));
  return [...known];
}

/** The content of `tokenizer.json`, in the form of the Hugging Face tokenizers library. */
function worldTokenizer(): Record<string, unknown> {
  const vocab = Object.fromEntries(vocabulary().map((token, id) => [token, id]));
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false };
  const split = { type: "Split", pattern: { Regex: kPattern }, behavior: "Isolated", invert: false };
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: kSpecialTokens.map((content, id) => ({ id, content, ...flags })),
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [split, byteLevel] },
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: true,
      vocab,
      merges: [],
    },
  };
}

/** The content of `tokenizer_config.json`, chat template included. */
function worldTokenizerConfig(): Record<string, unknown> {
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    add_bos_token: false,
    bos_token: null,
    eos_token: "<|end|>",
    pad_token: "<|pad|>",
    unk_token: null,
    clean_up_tokenization_spaces: false,
    model_max_length: 1024,
    chat_template: kChatTemplate,
  };
}

/**
 * Writes `tokenizer.json` and `tokenizer_config.json` of the built-in world into an existing folder.
 *
 * @throws ERR_IO when the folder cannot be written.
 */
export function writeWorldTokenizer(dir: string): void {
  const files = { "tokenizer.json": worldTokenizer(), "tokenizer_config.json": worldTokenizerConfig() };
  for (const [name, content] of Object.entries(files)) {
    try {
      writeFileSync(join(dir, name), `${JSON.stringify(content, null, 1)}\n`);
    } catch (cause) {
      throw new SeekError("ERR_IO", `${join(dir, name)}: cannot be written`, { cause });
    }
  }
}
