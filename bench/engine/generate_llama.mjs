/**
 * The same question as generate.ts to llama.cpp, through node-llama-cpp (a folder that has it: `npm install node-llama-cpp`).
 *
 * `node bench/engine/generate_llama.mjs --modules FOLDER --file MODEL.gguf --type Q8_0 [--threads 2] [--batch 1]
 * [--prompt 64] [--new 128] [--rounds 3]`. The file is made when missing: Qwen2.5-0.5B's sizes, random weights, the head
 * tied; norms and biases f32, everything else of the type, the embedding of Q4_0 in Q8_0 as llama-quantize keeps it.
 */
import { closeSync, existsSync, openSync, renameSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const text = (value) => ({ type: "string", default: value });
const { values } = parseArgs({
  options: {
    ...{
      modules: text("."),
      file: text("model.gguf"),
      type: text("Q8_0"),
      threads: text("2"),
      batch: text("1"),
    },
    ...{ prompt: text("64"), new: text("128"), rounds: text("3") },
  },
});

const sizes = { vocab: 151_936, width: 896, inner: 4864, layers: 24, heads: 14, kvHeads: 2, context: 4096 };

/** The format's number of each type, and how a block of random weights of standard deviation 0.02 is written. */
const types = { F32: 0, Q4_0: 2, Q8_0: 8, BF16: 30 };

let state = 1;
function random() {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state >>> 8;
}

function rowBytes(type, k) {
  return { F32: 4 * k, BF16: 2 * k, Q8_0: (k / 32) * 34, Q4_0: (k / 32) * 18 }[type];
}

/** One row; every row of a tensor starts at another place of it. */
function rowOf(type, k) {
  const row = Buffer.alloc(rowBytes(type, k));
  if (type === "F32") for (let i = 0; i < k; i++) row.writeFloatLE(1, 4 * i);
  if (type === "BF16") {
    const float = Buffer.alloc(4);
    for (let i = 0; i < k; i++) {
      float.writeFloatLE(((random() % 2001) / 1000 - 1) * 0.035);
      float.copy(row, 2 * i, 2, 4);
    }
  }
  const block = { Q8_0: 34, Q4_0: 18 }[type];
  for (let at = 0; block !== undefined && at < row.length; at += block) {
    row.writeUInt16LE(type === "Q8_0" ? 0x0c6d : 0x1c67, at); // 2.7e-4 and 4.3e-3 in f16
    for (let i = 2; i < block; i++) row[at + i] = random() & 255;
  }
  return row;
}

function string(value) {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, bytes]);
}
const u32 = (value) => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
const f32 = (value) => Buffer.from(Float32Array.of(value).buffer);
const pairs = {
  u32: (key, value) => Buffer.concat([string(key), u32(4), u32(value)]),
  f32: (key, value) => Buffer.concat([string(key), u32(6), f32(value)]),
  string: (key, value) => Buffer.concat([string(key), u32(8), string(value)]),
  strings: (key, list) => Buffer.concat([string(key), u32(9), u32(8), u64(list.length), ...list.map(string)]),
  ints: (key, list) =>
    Buffer.concat([string(key), u32(9), u32(5), u64(list.length), Buffer.from(Int32Array.from(list).buffer)]),
};

function keyValues() {
  // Two tokens and what they merge to come first; a merge of others is refused.
  const tokens = Array.from({ length: sizes.vocab }, (_, i) => ["t", "0", "t0"][i] ?? `t${i}`);
  return [
    pairs.string("general.architecture", "qwen2"),
    pairs.string("general.name", "random"),
    pairs.u32("qwen2.block_count", sizes.layers),
    pairs.u32("qwen2.context_length", sizes.context),
    pairs.u32("qwen2.embedding_length", sizes.width),
    pairs.u32("qwen2.feed_forward_length", sizes.inner),
    pairs.u32("qwen2.attention.head_count", sizes.heads),
    pairs.u32("qwen2.attention.head_count_kv", sizes.kvHeads),
    pairs.f32("qwen2.attention.layer_norm_rms_epsilon", 1e-6),
    pairs.f32("qwen2.rope.freq_base", 10_000),
    pairs.string("tokenizer.ggml.model", "gpt2"),
    pairs.string("tokenizer.ggml.pre", "qwen2"),
    pairs.strings("tokenizer.ggml.tokens", tokens),
    pairs.ints("tokenizer.ggml.token_type", new Array(sizes.vocab).fill(1)),
    pairs.strings("tokenizer.ggml.merges", ["t 0"]),
    pairs.u32("tokenizer.ggml.eos_token_id", sizes.vocab - 1),
    pairs.u32("tokenizer.ggml.bos_token_id", sizes.vocab - 1),
  ];
}

function tensorsOf(type) {
  const { width, inner, layers, kvHeads, heads, vocab } = sizes;
  const keyWidth = (width / heads) * kvHeads;
  const list = [{ name: "token_embd.weight", n: vocab, k: width, type: type === "Q4_0" ? "Q8_0" : type }];
  for (let i = 0; i < layers; i++) {
    const add = (name, n, k) => list.push({ name: `blk.${i}.${name}`, n, k, type: n === 1 ? "F32" : type });
    add("attn_norm.weight", 1, width);
    add("attn_q.weight", width, width);
    add("attn_k.weight", keyWidth, width);
    add("attn_v.weight", keyWidth, width);
    add("attn_q.bias", 1, width);
    add("attn_k.bias", 1, keyWidth);
    add("attn_v.bias", 1, keyWidth);
    add("attn_output.weight", width, width);
    add("ffn_norm.weight", 1, width);
    add("ffn_gate.weight", inner, width);
    add("ffn_up.weight", inner, width);
    add("ffn_down.weight", width, inner);
  }
  list.push({ name: "output_norm.weight", n: 1, k: width, type: "F32" });
  return list;
}

function writeModel(path, type) {
  const tensors = tensorsOf(type);
  let offset = 0;
  const infos = tensors.map((tensor) => {
    const dims = tensor.n === 1 ? [tensor.k] : [tensor.k, tensor.n];
    const info = [
      string(tensor.name),
      u32(dims.length),
      ...dims.map(u64),
      u32(types[tensor.type]),
      u64(offset),
    ];
    offset += Math.ceil((tensor.n * rowBytes(tensor.type, tensor.k)) / 32) * 32;
    return Buffer.concat(info);
  });
  const pairList = keyValues();
  const head = Buffer.concat([
    ...[Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(pairList.length), ...pairList, ...infos],
  ]);
  const file = openSync(path, "w");
  writeSync(file, Buffer.concat([head, Buffer.alloc((32 - (head.length % 32)) % 32)]));
  for (const { n, k, type: of } of tensors) {
    const rows = Buffer.concat(Array.from({ length: Math.min(n, 61) }, () => rowOf(of, k)));
    const bytes = n * rowBytes(of, k);
    for (let at = 0; at < bytes; at += rows.length) {
      writeSync(file, bytes - at < rows.length ? rows.subarray(0, bytes - at) : rows);
    }
    writeSync(file, Buffer.alloc((32 - (bytes % 32)) % 32));
  }
  closeSync(file);
}

if (!existsSync(values.file)) {
  // Whole or not there: a run that is ended meanwhile leaves no file that the next one would take.
  writeModel(`${values.file}.part`, values.type);
  renameSync(`${values.file}.part`, values.file);
}
const entry = createRequire(join(values.modules, "package.json")).resolve("node-llama-cpp");
const { getLlama } = await import(pathToFileURL(entry).href);
const [threads, batch, numPrompt, numNew] = [values.threads, values.batch, values.prompt, values.new].map(
  Number,
);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: "error" });
const model = await llama.loadModel({ modelPath: values.file });
const contextSize = numPrompt + numNew + 8;
const context = await model.createContext({ contextSize, sequences: batch, batchSize: 512, threads });

async function sample(sequence, seed) {
  const prompt = Array.from({ length: numPrompt }, (_, t) => (t * 31 + seed) % sizes.vocab);
  let [count, first] = [0, 0];
  for await (const _ of sequence.evaluate(prompt, { temperature: 1, seed, yieldEogToken: true })) {
    count += 1;
    if (count === 1) first = performance.now();
    if (count === numNew) break;
  }
  await sequence.clearHistory();
  return first;
}

const rates = [];
for (let round = 0; round <= Number(values.rounds); round++) {
  const sequences = Array.from({ length: batch }, () => context.getSequence());
  const started = performance.now();
  const firsts = await Promise.all(sequences.map((sequence, i) => sample(sequence, round * 64 + i)));
  const [ended, prefilled] = [performance.now(), Math.max(...firsts)];
  for (const sequence of sequences) sequence.dispose();
  const prefill = (1000 * batch * numPrompt) / (prefilled - started);
  if (round > 0) rates.push({ prefill, decode: (1000 * batch * (numNew - 1)) / (ended - prefilled) });
}
const middle = (key) => {
  const sorted = rates.map((rate) => rate[key]).sort((a, b) => a - b);
  return Number(sorted[Math.floor(sorted.length / 2)].toPrecision(4));
};
process.stdout.write(`${JSON.stringify({ prefill: middle("prefill"), decode: middle("decode") })}\n`);
process.exit(0);
