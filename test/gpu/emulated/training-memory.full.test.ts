/** The plan of a training on a GPU, emulated: what its kernels work in, and that a training finds room in it. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { codeOf } from "../../../lib/base/errors.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { type DecoderShape, decoderConfig } from "../../../lib/model/config/config.ts";
import type { Policy } from "../../../lib/model/policy.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { type TrainingSizes, trainingMemory } from "../../../lib/train/memory/plan.ts";
import { runCli } from "../../cli/run-cli.ts";
import { projectRoot } from "../../project.ts";
import { filled } from "../../train/tiny.ts";
import { ids, modelOn, shapes } from "../models.ts";

const shape = { ...shapes["biases and a tied head"]!, vocabSize: 2051 };

afterEach(() => {
  delete process.env["SEEKRL_EMULATED_BYTES"];
});

test("the plan of a training on a GPU counts keys and values in blocks, logits in f32 and widened weights", async () => {
  await using model = await modelOn("emulated", shape);
  const { config } = model;
  const { numKvHeads, headDim } = config;
  const sizes: TrainingSizes = { config, dtype: "bfloat16", batch: { tokens: 601, rows: 300 } };
  const [gpu, cpu] = [trainingMemory({ ...sizes, device: "emulated" }), trainingMemory(sizes)];
  // Blocks of 16 tokens of 16 bits; rows of logits of a multiple of 8.
  assert.equal(gpu.scratch, 2 * 2 * 608 * numKvHeads * headDim);
  assert.equal(gpu.head, 4 * 300 * 2056);
  assert.deepEqual([cpu.scratch, cpu.head], [0, 4 * 300 * 2051]);
  // What enters products has 16 bits there.
  assert.ok(gpu.activations < 0.8 * cpu.activations, `${gpu.activations} of ${cpu.activations}`);
  assert.deepEqual([gpu.process, cpu.allocator], [0, 0]);
  const adapter = { ...sizes, device: "emulated", weights: "nf4", adapterParameters: 1e4 } as const;
  assert.equal(trainingMemory(adapter).scratch - gpu.scratch, 2 ** 27);
});

test("logits take at most 256 MB of a GPU, and nearly so of a large vocabulary", async () => {
  await (await modelOn("emulated", shape)).close();
  const config = decoderConfig({
    ...{ vocabSize: 152_064, hiddenSize: 3584, intermediateSize: 18_944 },
    ...{ numLayers: 28, numHeads: 28, numKvHeads: 4, headDim: 128 },
  });
  const batch = { tokens: 4096, rows: 4096 };
  const { head } = trainingMemory({ config, dtype: "bfloat16", device: "emulated", batch });
  assert.ok(head <= 2 ** 28 && head > 0.99 * 2 ** 28, `${head}`);
});

/** Qwen2.5's form, with the feed-forward as wide as 3B has it beside its hidden size. */
const qwen: DecoderShape = {
  architecture: "Qwen2ForCausalLM",
  ...{ vocabSize: 96, hiddenSize: 64, intermediateSize: 344, numLayers: 4 },
  ...{ numHeads: 2, numKvHeads: 1, headDim: 32, qkvBias: true, tieEmbeddings: true },
};

test("a training takes what the plan says of a GPU, and at least nine tenths of it", async () => {
  const tokens = Int32Array.from(ids(96, 1));
  const rows = Int32Array.from({ length: tokens.length - 1 }, (_, row) => row);
  const sequence = { tokens, rows, weights: filled(rows.length, () => 1 / rows.length) };
  const batch = { tokens: tokens.length, rows: rows.length };
  await using model = await modelOn("emulated", qwen);
  await using adapter = await Adapter.create(model, { rank: 8 });
  const { config } = model;
  const forms: [string, Policy, Partial<TrainingSizes>][] = [
    ["whole", model, {}],
    ["whole, layers run twice", model, { activationBytes: 0 }],
    ["whole, 8-bit moments", model, { moments: "8-bit", masterWeights: false }],
    ["adapter", adapter, { adapterParameters: adapter.numParameters }],
    ["adapter, layers run twice", adapter, { adapterParameters: adapter.numParameters, activationBytes: 0 }],
  ];
  for (const [name, policy, form] of forms) {
    const plan = trainingMemory({ config, dtype: "bfloat16", device: "emulated", batch, ...form });
    // The emulated allocator keeps nothing back; another model's memory is an adapter's own.
    const planned = plan.total - plan.allocator + (policy === model ? 6 * adapter.numParameters : 0);
    const { moments, masterWeights, activationBytes = 1e12 } = form;
    const fits = async (share: number): Promise<boolean> => {
      process.env["SEEKRL_EMULATED_BYTES"] = String(Math.floor(share * planned));
      try {
        await using trainer = await Trainer.open(policy, { moments, masterWeights, activationBytes });
        await trainer.accumulate([sequence]);
        await trainer.step({ learningRate: 1e-5 });
        return true;
      } catch (error) {
        assert.equal(codeOf(error), "ERR_MEMORY");
        return false;
      } finally {
        delete process.env["SEEKRL_EMULATED_BYTES"];
      }
    };
    assert.deepEqual([await fits(1), await fits(0.9)], [true, false], name);
  }
});

test("layers run twice where half of what a GPU has left is not enough for all", async () => {
  await using model = await modelOn("emulated", qwen);
  const tokens = Int32Array.from(ids(96, 1));
  const rows = Int32Array.from({ length: 40 }, (_, row) => row);
  const sequence = { tokens, rows, weights: filled(40, () => 1 / 40) };
  const batch = { tokens: 96, rows: 40 };
  const sizes = { config: model.config, dtype: "bfloat16", device: "emulated", batch } as const;
  const plan = trainingMemory({ ...sizes, activationBytes: 0 });
  process.env["SEEKRL_EMULATED_BYTES"] = String(Math.floor(1.02 * (plan.total - plan.allocator)));
  await using trainer = await Trainer.open(model);
  await trainer.accumulate([sequence]);
});

/** A folder of 3B's shape, whose file has the size of its weights and none of them. */
async function folderOf3B(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-3b-"));
  after(() => rm(folder, { recursive: true, force: true }));
  const [d, i, q, k, vocab] = [2048, 11_008, 2048, 256, 151_936];
  const config = {
    ...{ architectures: ["Qwen2ForCausalLM"], model_type: "qwen2", hidden_size: d, intermediate_size: i },
    ...{ num_hidden_layers: 36, num_attention_heads: 16, num_key_value_heads: 2, vocab_size: vocab },
    ...{ rms_norm_eps: 1e-6, rope_theta: 1e6, max_position_embeddings: 32_768, tie_word_embeddings: true },
    ...{ hidden_act: "silu", torch_dtype: "bfloat16", use_sliding_window: false },
  };
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  const layer = {
    ...{ "input_layernorm.weight": [d], "post_attention_layernorm.weight": [d] },
    ...{ "self_attn.q_proj.weight": [q, d], "self_attn.q_proj.bias": [q], "self_attn.o_proj.weight": [d, q] },
    ...{ "self_attn.k_proj.weight": [k, d], "self_attn.k_proj.bias": [k] },
    ...{ "self_attn.v_proj.weight": [k, d], "self_attn.v_proj.bias": [k] },
    ...{ "mlp.gate_proj.weight": [i, d], "mlp.up_proj.weight": [i, d], "mlp.down_proj.weight": [d, i] },
  };
  const shapes = new Map<string, number[]>([
    ["model.embed_tokens.weight", [vocab, d]],
    ["model.norm.weight", [d]],
  ]);
  for (let l = 0; l < 36; l += 1)
    for (const [name, shape] of Object.entries(layer)) shapes.set(`model.layers.${l}.${name}`, shape);
  let end = 0;
  const header: Record<string, object> = {};
  for (const [name, shape] of shapes) {
    const begin = end;
    end += 2 * shape.reduce((product, size) => product * size, 1);
    header[name] = { dtype: "BF16", shape, data_offsets: [begin, end] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = join(folder, "model.safetensors");
  await writeFile(file, Buffer.concat([length, text]));
  await truncate(file, 8 + text.length + end);
  const tokenizer = join(projectRoot, "world", "checkpoint", "tokenizer.json");
  await copyFile(tokenizer, join(folder, "tokenizer.json"));
  return folder;
}

test("what 3B takes on an 80 GB GPU is told before a weight is read, and what does not fit is refused with what would", async () => {
  const model = await folderOf3B();
  const data = join(model, "data.jsonl");
  await writeFile(data, `${JSON.stringify({ prompt: "Who ", completion: "am I ".repeat(4000) })}\n`);
  const sft = [
    "sft",
    "--model",
    model,
    "--data",
    data,
    "--device",
    "emulated",
    "--out",
    join(model, "run"),
    "--dry-run",
  ];
  process.env["SEEKRL_EMULATED_BYTES"] = String(84e9);
  const whole = await runCli(...sft);
  assert.equal(whole.code, 0, whole.stderr);
  assert.match(whole.stderr, /^model +\S+: 3,085,938,688 parameters, bfloat16 on emulated$/m);
  const memory =
    /^memory +([\d.]+) GB at most, 84\.0 GB are free: weights 6\.2 GB, gradients 12\.3 GB, optimiser 30\.9 GB, activations [\d.]+ GB, head [\d.]+ MB, scratch [\d.]+ MB, allocator [\d.]+ MB$/m;
  assert.match(whole.stderr, memory);
  const lora = await runCli(...sft, "--lora", "16");
  assert.match(lora.stderr, /^adapter +29,933,568 parameters are trained$/m);
  assert.match(
    lora.stderr,
    /^memory +\d\d\.\d GB at most, 84\.0 GB are free: weights 6\.4 GB, gradients 120 MB, optimiser 239 MB/m,
  );
  process.env["SEEKRL_EMULATED_BYTES"] = String(39e9);
  const questions = join(model, "questions.jsonl");
  await writeFile(questions, `${JSON.stringify({ id: "q", question: "Who?", answers: ["I"] })}\n`);
  const train = [
    "train",
    "--model",
    model,
    "--questions",
    questions,
    "--baseline",
    "direct",
    "--algorithm",
    "grpo",
  ];
  const refused = await runCli(...train, "--device", "emulated", "--out", join(model, "run"));
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /emulated: this training takes [\d.]+ GB, 39\.0 GB are free\. Remedy: --optimizer moments=8-bit,masterWeights=false \([\d.]+ GB\), or --lora 16 \([\d.]+ GB\)\./,
  );
  assert.ok(!existsSync(join(model, "run")));
});
