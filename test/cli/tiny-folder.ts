/** A model folder for tests: a random model of some kilobytes with a tokenizer of bytes. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { native } from "../../lib/base/addon/native.ts";
import { Model } from "../../lib/model/model.ts";

/** GPT-2's byte alphabet: every byte as one printable character. */
function byteAlphabet(): string[] {
  const isPrintable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++));
}

/** Bytes are ids 0 to 255, the end of text is 256. */
function byteTokenizer(): object {
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false };
  const end = { id: 256, content: "<|end|>", single_word: false, lstrip: false, rstrip: false };
  const vocab = Object.fromEntries([...byteAlphabet(), "<|end|>"].map((token, id) => [token, id]));
  return {
    version: "1.0",
    added_tokens: [{ ...end, normalized: false, special: true }],
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: { type: "BPE", vocab, merges: [] },
  };
}

/** The same tokenizer as a GGUF file has it. */
export const bytesAsGguf = {
  "tokenizer.ggml.model": "gpt2",
  "tokenizer.ggml.pre": "gpt-2",
  "tokenizer.ggml.tokens": [...byteAlphabet(), "<|end|>"],
  "tokenizer.ggml.token_type": Array.from({ length: 257 }, (_, id) => (id === 256 ? 3 : 1)),
  "tokenizer.ggml.eos_token_id": 256,
};

/** Writes the folder. */
export async function writeTinyModel(
  folder: string,
  { maxPosition = 1024, hiddenSize = 16, intermediateSize = 32 } = {},
): Promise<void> {
  await native().setNumThreads(1);
  await mkdir(folder, { recursive: true });
  const sizes = { hiddenSize, intermediateSize, numLayers: 2, numHeads: 2, maxPosition };
  const model = await Model.create({ vocabSize: 257, tieEmbeddings: true, ...sizes }, { seed: 1, std: 0.2 });
  await model.save(folder);
  model.close();
  await writeFile(join(folder, "tokenizer.json"), JSON.stringify(byteTokenizer()));
  await writeFile(join(folder, "tokenizer_config.json"), JSON.stringify({ eos_token: "<|end|>" }));
}
