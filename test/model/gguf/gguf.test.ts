/** GGUF files: the model of a folder converted computes what the folder's does; broken files are refused by name. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readGguf } from "../../../lib/base/gguf/gguf.ts";
import type { GgufValue } from "../../../lib/base/gguf/gguf-cursor.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { readGgufModel } from "../../../lib/model/gguf/gguf-model.ts";
import { Model } from "../../../lib/model/model.ts";
import { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { readSentencePieceModel } from "../../../lib/text/tokenizers/sentencepiece/sentencepiece-model.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { runCli } from "../../cli/run-cli.ts";
import { projectRoot } from "../../project.ts";
import { ggufBytes, type WrittenTensor, writeGguf } from "./fixture.ts";

const golden = join(projectRoot, "test", "golden", "model");
let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-gguf-"));
});

after(() => rm(folder, { recursive: true }));

async function greedy(model: Model, prompt: Int32Array, maxTokens: number): Promise<number[]> {
  await using engine = await Engine.open(model);
  const sequence = engine.open(prompt);
  const { ids } = await sequence.generate({ maxTokens, temperature: 0 });
  sequence.close();
  return [...ids];
}

const prompt = Int32Array.from({ length: 20 }, (_, i) => (i * 31 + 7) % 96);

// Each folder's own stored dtype, so that nothing is rounded; and f32, which holds all.
for (const [name, type] of [
  ["llama", "F16"],
  ["qwen3", "BF16"],
  ["qwen2", "F32"],
  ["llama", "F32"],
] as const) {
  test(`${name} as GGUF in ${type} generates the ids of its folder`, async () => {
    const path = join(folder, `${name}-${type}.gguf`);
    await using model = await Model.load(join(golden, name));
    await writeGguf(path, model, { type });
    await using read = await Model.load(path);
    for (const { name: parameter } of model.handle.tensors()) {
      assert.deepEqual(await read.parameter(parameter), await model.parameter(parameter), parameter);
    }
    assert.deepEqual(await greedy(read, prompt, 60), await greedy(model, prompt, 60));
    const saved = join(folder, `${name}-${type}`);
    await read.save(saved);
    await using again = await Model.load(saved);
    assert.deepEqual(await again.scoreLogprobs(prompt), await read.scoreLogprobs(prompt));
  });
}

// Weights of about 0.2 in blocks of 32, off by half a step of 0.2 * 2.5 / 127 and 0.2 * 2.5 / 8; log-probabilities of
// about 5 in size over two layers.
for (const [type, tolerance] of [
  ["Q8_0", 0.1],
  ["Q4_0", 1.5],
] as const) {
  test(`a model in ${type} scores within ${tolerance} of its folder`, async () => {
    const path = join(folder, `${type}.gguf`);
    await using model = await Model.load(join(golden, "qwen2"));
    await writeGguf(path, model, { type });
    await using read = await Model.load(path);
    const [, ...expected] = await model.scoreLogprobs(prompt);
    const [, ...scored] = await read.scoreLogprobs(prompt);
    const gaps = scored.map((logprob, i) => Math.abs(Number(logprob) - Number(expected[i])));
    assert.ok(Math.max(...gaps) < tolerance && Math.max(...gaps) > 0, `off by ${Math.max(...gaps)}`);
    // bf16 weights keep 8 bits of what the blocks say.
    await using narrow = await Model.load(path, { dtype: "bfloat16" });
    assert.equal(narrow.dtype, "bfloat16");
  });
}

test("Q4_0 keeps its codes where weights are int4", async () => {
  const shape = { vocabSize: 96, hiddenSize: 64, intermediateSize: 64, numLayers: 2, numHeads: 4 };
  await using model = await Model.create(shape, { std: 0.2, seed: 3 });
  const path = join(folder, "codes.gguf");
  await writeGguf(path, model, { type: "Q4_0" });
  await using widened = await Model.load(path);
  await using kept = await Model.load(path, { weights: "int4" });
  const [, ...exact] = await widened.scoreLogprobs(prompt);
  const [, ...scored] = await kept.scoreLogprobs(prompt);
  const gaps = scored.map((logprob, i) => Math.abs(Number(logprob) - Number(exact[i])));
  // Codes and scales are the same; products round activations to 8 bits.
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  assert.ok(mean > 0 && mean < 0.05, `${mean}`);
});

/** A llama of one layer whose value projection, four rows of 256, is given. */
function withValues(
  values: Omit<WrittenTensor, "name" | "shape">,
  metadata: Readonly<Record<string, GgufValue>> = {},
): Buffer {
  const zeros = (name: string, ...shape: number[]): WrittenTensor => {
    const count = shape.reduce((product, size) => product * size, 1);
    return { name, shape, type: "F32", bytes: new Uint8Array(4 * count) };
  };
  const tensors: WrittenTensor[] = [
    zeros("token_embd.weight", 3, 256),
    ...[zeros("blk.0.attn_norm.weight", 256), zeros("blk.0.ffn_norm.weight", 256)],
    ...[zeros("blk.0.attn_q.weight", 8, 256), zeros("blk.0.attn_k.weight", 4, 256)],
    { name: "blk.0.attn_v.weight", shape: [4, 256], ...values },
    ...[zeros("blk.0.attn_output.weight", 256, 8), zeros("blk.0.ffn_gate.weight", 2, 256)],
    ...[zeros("blk.0.ffn_up.weight", 2, 256), zeros("blk.0.ffn_down.weight", 256, 2)],
    zeros("output_norm.weight", 256),
  ];
  return ggufBytes({ ...tinyMetadata, ...metadata }, tensors);
}

const tinyMetadata: Readonly<Record<string, GgufValue>> = {
  "general.architecture": "llama",
  "llama.context_length": 64,
  "llama.embedding_length": 256,
  "llama.block_count": 1,
  "llama.feed_forward_length": 2,
  "llama.attention.head_count": 2,
  "llama.attention.head_count_kv": 1,
  "llama.attention.key_length": 4,
  "llama.attention.layer_norm_rms_epsilon": 1.5e-5,
};

interface Golden {
  readonly blocks: string;
  readonly f32: string;
}

test("quantised blocks are widened to the bits that ggml gives", async () => {
  const text = await readFile(join(golden, "gguf", "blocks.json"), "utf8");
  for (const [type, { blocks, f32 }] of Object.entries(JSON.parse(text) as Record<string, Golden>)) {
    const path = join(folder, "blocks.gguf");
    await writeFile(path, withValues({ type, bytes: Buffer.from(blocks, "hex") }));
    await using model = await Model.load(path);
    const values = await model.parameter("model.layers.0.self_attn.v_proj.weight");
    assert.equal(Buffer.from(values.buffer).toString("hex"), f32, type);
  }
});

const valueBytes = new Uint8Array(4 * 256 * 4);
const good = withValues({ type: "F32", bytes: valueBytes });

/** A file whose one value is a list of a list of a list. */
function nestedLists(depth: number): Buffer {
  const open = Buffer.from("090000000100000000000000", "hex");
  const key = Buffer.from("deep");
  const head = ggufBytes({}, []).subarray(0, 24);
  head.writeUInt32LE(1, 16);
  const length = Buffer.alloc(8);
  length.writeUInt32LE(key.length);
  const lists = Array.from({ length: depth }, () => open);
  return Buffer.concat([head, length, key, Buffer.of(9, 0, 0, 0), ...lists]);
}

/** The file with one of its metadata changed. */
const changed = (metadata: Readonly<Record<string, GgufValue>>): Buffer =>
  ggufBytes({ ...tinyMetadata, "llama.vocab_size": 3, ...metadata }, []);

const broken: readonly (readonly [string, Buffer, RegExp])[] = [
  ["no bytes at all", Buffer.alloc(0), /header ends beyond/],
  ["another file", Buffer.from("{ this is JSON, no GGUF }"), /expected a GGUF file/],
  [
    "an old version",
    Buffer.concat([good.subarray(0, 4), Buffer.of(1, 0, 0, 0), good.subarray(8)]),
    /version 2 or 3/,
  ],
  ["a header that is cut", good.subarray(0, 300), /header ends beyond the file's 300 bytes/],
  ["data that is cut", good.subarray(0, good.length - 64), /ends beyond the file's/],
  ["a type that is not supported", withValues({ type: "Q5_K", bytes: new Uint8Array(704) }), /type.*Q5_K/],
  ["a type that nobody knows", withValues({ type: "none", bytes: new Uint8Array(704) }), /type 99/],
  ["another architecture", changed({ "general.architecture": "mamba" }), /general.architecture.*mamba/],
  ["a key that might count", changed({ "llama.logit_scale": 2 }), /llama.logit_scale/],
  ["experts", changed({ "llama.expert_count": 8 }), /expert_count/],
  ["a number that is a text", changed({ "llama.block_count": "one" }), /block_count: expected a number/],
  ["lists in lists without end", nestedLists(60_000), /deep: expected lists in lists up to 8 deep/],
  [
    "an odd alignment",
    changed({ "general.alignment": 7 }),
    /general.alignment: expected a multiple of 8, got 7/,
  ],
  ["an adapter", changed({ "general.type": "adapter" }), /general.type: expected model, got adapter/],
  ["one file of several", changed({ "split.count": 3 }), /split.count: .* one of 3 files; merge them/],
  [
    "another number of words than the embedding's",
    withValues({ type: "F32", bytes: valueBytes }, { "llama.vocab_size": 4 }),
    /llama.vocab_size: expected 3, the rows of token_embd, got 4/,
  ],
  [
    "too many tensors",
    Buffer.concat([good.subarray(0, 8), Buffer.alloc(8, 255), good.subarray(16)]),
    /expected up to/,
  ],
];

for (const [what, bytes, message] of broken) {
  test(`${what} is refused by name`, async () => {
    const path = join(folder, "broken.gguf");
    await writeFile(path, bytes);
    await assert.rejects(Model.load(path), { code: "ERR_FORMAT", message });
  });
}

test("a factor without a type is linear, as in llama.cpp", async () => {
  const path = join(folder, "factor.gguf");
  for (const [factor, expected] of [
    [4, { rope_type: "linear", factor: 4 }],
    [1, null],
  ] as const) {
    await writeFile(path, changed({ "llama.rope.scaling.factor": factor }));
    assert.deepEqual((await readGgufModel(path)).config.rope_scaling, expected);
  }
});

test("a header that is cut anywhere is refused and never hangs", async () => {
  const path = join(folder, "cut.gguf");
  for (let length = 0; length < 1200; length += 7) {
    await writeFile(path, good.subarray(0, length));
    await assert.rejects(readGguf(path), { code: "ERR_FORMAT" });
  }
});

const byteLetter = (byte: number): string =>
  String.fromCodePoint(byte > 32 && byte < 127 ? byte : 256 + byte);

test("a BPE vocabulary is read with its merges, marks and template", async () => {
  const letters = Array.from({ length: 127 }, (_, byte) => byteLetter(byte));
  const words = ["he", "ll", "hell", "hello", "\u0120w"];
  const marks = ["<|bos|>", "<|end|>"];
  const tokens = [...letters, ...words, ...marks];
  const id = (token: string): number => tokens.indexOf(token);
  const path = join(folder, "bpe.gguf");
  const metadata = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "llama-bpe",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.token_type": tokens.map((token) => (marks.includes(token) ? 3 : 1)),
    "tokenizer.ggml.merges": ["h e", "l l", "he ll", "hell o", "\u0120 w"],
    "tokenizer.ggml.bos_token_id": id("<|bos|>"),
    "tokenizer.ggml.eos_token_id": id("<|end|>"),
    "tokenizer.chat_template":
      "{{ bos_token }}{% for message in messages %}{{ message.content }}{{ eos_token }}{% endfor %}",
  };
  await writeFile(path, ggufBytes(metadata, []));
  const tokenizer = await Tokenizer.load(path);
  const ids = [id("hello"), id("\u0120w"), id("o"), id("<|end|>")];
  assert.deepEqual([...tokenizer.encode("hello wo<|end|>")], ids);
  assert.equal(tokenizer.decode(ids), "hello wo<|end|>");
  assert.deepEqual(tokenizer.eosIds, [id("<|end|>")]);
  assert.deepEqual([...tokenizer.encode("hello", { beginsText: true })], [id("<|bos|>"), id("hello")]);
  const template = await ChatTemplate.load(path);
  assert.equal(template?.render([{ role: "user", content: "hello" }]), "<|bos|>hello<|end|>");
  for (const [key, value, message] of [
    ["pre", "tekken", /tokenizer.ggml.pre.*tekken/],
    ["tokens", [...tokens.slice(0, -1), "hell"], /tokens: "hell" stands twice/],
    ["eos_token_id", 5000, /eos_token_id: expected an id of the \d+ tokens, got 5000/],
  ] as const) {
    await writeFile(path, ggufBytes({ ...metadata, [`tokenizer.ggml.${key}`]: value }, []));
    await assert.rejects(Tokenizer.load(path), { code: "ERR_FORMAT", message });
  }
});

test("generate takes a GGUF file for a model folder", async () => {
  await using model = await Model.load(join(golden, "qwen2"));
  const path = join(folder, "letters.gguf");
  const tokenizer = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": Array.from({ length: 96 }, (_, byte) => byteLetter(byte)),
  };
  await writeGguf(path, model, { type: "F32", tokenizer });
  const asked = ["--prompt", "HELLO", "--temperature", "0", "--max-tokens", "8", "--json"];
  const { code, stdout, stderr } = await runCli("generate", "--model", path, ...asked);
  assert.equal(code, 0, stderr);
  const { samples } = JSON.parse(stdout) as { samples: { ids: number[] }[] };
  const prompt = Int32Array.from(Buffer.from("HELLO"));
  assert.deepEqual(samples[0]?.ids, await greedy(model, prompt, 8));
});

const shared = process.env.SEEKRL_SHARED_DATA;
const skip = shared === undefined && "SEEKRL_SHARED_DATA names no folder";

/** The `tokenizer.ggml` keys that llama.cpp's converter makes of a tokenizer.json. */
async function bpeMetadata(path: string, pre: string): Promise<Record<string, GgufValue>> {
  const { model, added_tokens } = JSON.parse(await readFile(path, "utf8"));
  const tokens: string[] = [];
  for (const [token, id] of Object.entries(model.vocab)) tokens[id as number] = token;
  const types = tokens.map(() => 1);
  for (const { id, content, special } of added_tokens) {
    tokens[id] = content;
    types[id] = special ? 3 : 4;
  }
  return {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": pre,
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.token_type": types,
    "tokenizer.ggml.merges": model.merges.map((merge: string | string[]) =>
      typeof merge === "string" ? merge : merge.join(" "),
    ),
  };
}

const texts = [
  "Who founded Citibank in 1812?\n\nIt's 12345 \u4f60\u597d  caf\u00e9 e\u0301t\u00e9 <|im_end|><|eot_id|>",
  "  def f(x):\n\treturn x**2  # \u00fcber\r\n",
];

for (const [name, pre] of [
  ["qwen2.5", "qwen2"],
  ["llama3", "llama-bpe"],
] as const) {
  test(`the tokenizer of ${name} as GGUF gives the ids of its tokenizer.json`, { skip }, async () => {
    const source = join(shared ?? "", "tokenizers", name, "tokenizer.json");
    const path = join(folder, `${name}.gguf`);
    await writeFile(path, ggufBytes(await bpeMetadata(source, pre), []));
    const [expected, read] = await Promise.all([Tokenizer.load(source), Tokenizer.load(path)]);
    for (const text of texts) assert.deepEqual(read.encode(text), expected.encode(text), text);
  });
}

test("stories260K as GGUF tells its folder's story", { skip }, async () => {
  const source = join(shared ?? "", "weights", "stories260K");
  const file = join(source, "tok512.model");
  const { pieces, bosId, eosId, unkId } = readSentencePieceModel(file, await readFile(file));
  const tokenizer = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": pieces.map(({ text }) => text),
    "tokenizer.ggml.scores": pieces.map(({ score }) => score + 1e-9),
    "tokenizer.ggml.token_type": pieces.map(({ type }) => type),
    "tokenizer.ggml.bos_token_id": bosId,
    "tokenizer.ggml.eos_token_id": eosId,
    "tokenizer.ggml.unknown_token_id": unkId,
  };
  await using model = await Model.load(source);
  const path = join(folder, "stories.gguf");
  await writeGguf(path, model, { type: "F16", tokenizer });
  const [expected, read] = await Promise.all([Tokenizer.load(source), Tokenizer.load(path)]);
  const story = "Once upon a time, there was a little girl named Lily.";
  const ids = read.encode(story, { beginsText: true });
  assert.deepEqual(ids, expected.encode(story, { beginsText: true }));
  await using gguf = await Model.load(path);
  assert.deepEqual(await greedy(gguf, ids, 120), await greedy(model, ids, 120));
  // Weights of 8 bits: log-probabilities move by some hundredths.
  const quantised = join(folder, "stories-q8.gguf");
  await writeGguf(quantised, model, { type: "Q8_0", tokenizer });
  await using q8 = await Model.load(quantised);
  const [, ...scored] = await q8.scoreLogprobs(ids);
  const [, ...exact] = await model.scoreLogprobs(ids);
  const gaps = scored.map((logprob, i) => Math.abs(Number(logprob) - Number(exact[i])));
  assert.ok(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length < 0.02, `mean gap of ${gaps}`);
});
