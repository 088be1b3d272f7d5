/** LoRA adapters as files and numbers: what peft computes, what peft writes, and what is refused. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Adapter } from "../../lib/model/adapter.ts";
import { readPeftConfig } from "../../lib/model/peft-config.ts";
import { adapterParameters } from "../../lib/model/form/adapter-size.ts";
import { Model } from "../../lib/model/model.ts";
import { scoreSequences, Trainer } from "../../lib/train/learner/trainer.ts";
import { projectRoot } from "../project.ts";
import { goldenModel, goldenSequences, readTensors } from "../train/learner/golden.ts";
import { withFolder } from "../train/run/kill.ts";
import { maxDifference, tinyModel } from "../train/tiny.ts";

const lora = join(projectRoot, "test", "golden", "lora");

interface Expected {
  readonly loss: number;
  readonly logprobs: readonly number[][];
  readonly merged: readonly number[][];
}

const expected = JSON.parse(readFileSync(join(lora, "expected.json"), "utf8")) as Record<string, Expected>;

function assertClose(ours: readonly Float32Array[], theirs: readonly number[][], bound: number): void {
  for (const [i, logprobs] of theirs.entries()) {
    const difference = maxDifference(ours[i]!, Float32Array.from(logprobs));
    assert.ok(difference < bound, `sequence ${i}: differs by ${difference}`);
  }
}

for (const [name, golden] of Object.entries(expected)) {
  test(`log-probabilities, loss and gradients of peft's ${name} adapter are peft's`, async () => {
    await using model = await goldenModel("qwen2");
    await using adapter = await Adapter.load(model, join(lora, name));
    const { logprobs } = await scoreSequences(adapter, goldenSequences, { maxTokens: 18 });
    assertClose(logprobs, golden.logprobs, 1e-5);
    await using trainer = await Trainer.open(adapter);
    const stats = await trainer.accumulate(goldenSequences, { maxTokens: 18 });
    assert.ok(Math.abs(stats.loss - golden.loss) < 1e-5 * Math.abs(golden.loss));
    const gradients = await readTensors(join(lora, name, "gradients.safetensors"));
    for (const [key, values] of gradients) {
      const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const difference = maxDifference(await trainer.gradient(key), values);
      assert.ok(difference < 1e-4 * largest + 1e-6, `${key}: differs by ${difference} of ${largest}`);
    }
  });

  test(`a model into which the ${name} adapter was merged gives what peft's does, and what the adapter gave`, async () => {
    await using model = await goldenModel("qwen2");
    await using adapter = await Adapter.load(model, join(lora, name));
    const before = await scoreSequences(adapter, goldenSequences);
    const version = model.weightsVersion;
    await adapter.merge();
    assert.equal(model.weightsVersion, version + 1);
    const { logprobs } = await scoreSequences(model, goldenSequences);
    assertClose(logprobs, golden.merged, 1e-5);
    for (const [i, values] of logprobs.entries()) {
      assert.ok(maxDifference(values, before.logprobs[i]!) < 1e-5);
    }
  });
}

test("an adapter that was saved is the same when loaded, and its configuration is one that peft wrote", async () => {
  await withFolder(async (folder) => {
    await using model = await goldenModel("qwen2");
    await using adapter = await Adapter.load(model, join(lora, "linear"));
    await adapter.save(folder);
    assert.deepEqual((await readdir(folder)).sort(), ["adapter_config.json", "adapter_model.safetensors"]);
    const theirs = await readTensors(join(lora, "linear", "adapter_model.safetensors"));
    const ours = await readTensors(join(folder, "adapter_model.safetensors"));
    assert.deepEqual([...ours.keys()].sort(), [...theirs.keys()].sort());
    for (const [name, values] of theirs) assert.deepEqual(ours.get(name), values);
    const [written, read] = await Promise.all(
      [folder, join(lora, "linear")].map(async (each) =>
        JSON.parse(await readFile(join(each, "adapter_config.json"), "utf8")),
      ),
    );
    const { base_model_name_or_path: base, ...rest } = written;
    assert.equal(base, model.folder);
    for (const [key, value] of Object.entries(rest)) assert.deepEqual(value, read[key], key);
    await using again = await Adapter.load(model, folder);
    assert.deepEqual(again.shape, adapter.shape);
    assert.deepEqual(
      (await scoreSequences(again, goldenSequences)).logprobs,
      (await scoreSequences(adapter, goldenSequences)).logprobs,
    );
  });
});

test("peft's adapter on a fused Phi-3 gives peft's log-probabilities; saved, it is marked as ours", async () => {
  const { ids, logprobs } = JSON.parse(await readFile(join(lora, "fused", "expected.json"), "utf8"));
  await using model = await Model.load(join(projectRoot, "test", "golden", "model", "phi3"));
  await using adapter = await Adapter.load(model, join(lora, "fused"));
  const { targets } = adapter.shape;
  assert.deepEqual(targets, ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]);
  const [, ...scored] = await adapter.scoreLogprobs(Int32Array.from(ids));
  assertClose([Float32Array.from(scored.map(Number))], [logprobs], 1e-4);
  assert.notDeepEqual((await model.scoreLogprobs(Int32Array.from(ids))).slice(1), scored);
  await withFolder(async (folder) => {
    await adapter.save(folder);
    const { peft_type } = JSON.parse(await readFile(join(folder, "adapter_config.json"), "utf8"));
    assert.equal(peft_type, "SEEKRL_LORA");
    await using again = await Adapter.load(model, folder);
    assert.deepEqual((await again.scoreLogprobs(Int32Array.from(ids))).slice(1), scored);
  });
});

test("peft is given adapters of which it finds every module, and no others", async () => {
  const typeOf = async (name: string, targets: readonly string[]) => {
    await using model = await Model.load(join(projectRoot, "test", "golden", "model", name));
    await using adapter = await Adapter.create(model, { rank: 2, targets: [...targets, ...targets] });
    assert.deepEqual(adapter.shape.targets, targets);
    return await withFolder(async (folder) => {
      await adapter.save(folder);
      const { peft_type } = JSON.parse(await readFile(join(folder, "adapter_config.json"), "utf8"));
      return peft_type as string;
    });
  };
  assert.equal(await typeOf("phi3", ["down_proj", "o_proj"]), "LORA");
  assert.equal(await typeOf("phi3", ["o_proj", "q_proj"]), "SEEKRL_LORA");
  assert.equal(await typeOf("qwen3_moe", ["o_proj", "q_proj"]), "LORA");
  assert.equal(await typeOf("qwen3_moe", ["down_proj"]), "SEEKRL_LORA");
  assert.equal(await typeOf("llama", ["down_proj", "gate_proj"]), "LORA");
});

test("a new adapter changes nothing; A is uniform in the bounds of peft, and follows from the seed", async () => {
  await using model = await tinyModel();
  await using adapter = await Adapter.create(model, { rank: 4, targets: ["q_proj", "down_proj"], seed: 3 });
  assert.equal(adapter.numParameters, 2 * (4 * (16 + 16) + 4 * (24 + 16)));
  const ids = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6);
  assert.deepEqual(await adapter.scoreLogprobs(ids), await model.scoreLogprobs(ids));
  const name = "base_model.model.model.layers.1.mlp.down_proj.lora_A.weight";
  const values = await adapter.parameter(name);
  const bound = 1 / Math.sqrt(24);
  assert.ok(values.every((value) => Math.abs(value) <= bound));
  const spread = Math.hypot(...values) / Math.sqrt(values.length);
  assert.ok(Math.abs(spread / (bound / Math.sqrt(3)) - 1) < 0.2, `root mean square ${spread}`);
  await using same = await Adapter.create(model, { rank: 4, targets: ["q_proj", "down_proj"], seed: 3 });
  await using other = await Adapter.create(model, { rank: 4, targets: ["q_proj", "down_proj"], seed: 4 });
  assert.deepEqual(await same.parameter(name), values);
  assert.notDeepEqual(await other.parameter(name), values);
});

const refused: readonly (readonly [string, unknown])[] = [
  ["use_dora", true],
  ["modules_to_save", ["lm_head"]],
  ["rank_pattern", { q_proj: 8 }],
  ["alpha_pattern", { q_proj: 8 }],
  ["layers_to_transform", ["0"]],
  ["bias", "all"],
  ["init_lora_weights: .*gaussian", "something"],
  ...["pissa", "pissa_niter_4", "olora", "OLoRA", "corda", "loftq", "lora_ga"].map(
    (method): readonly [string, string] => [`init_lora_weights: ${method} changed the base`, method],
  ),
  ["lora_alpha", 0],
  ["lora_alpha", -8],
  ["lora_alpha", 1e300],
  ["lora_dropout", -0.1],
  ["lora_dropout", 1.5],
  ["peft_type", "IA3"],
  ["target_modules", "(q_proj"],
  ["something_new", 3],
];

test("what is not plain LoRA is refused by the name of its key", async () => {
  await using model = await goldenModel("qwen2");
  await withFolder(async (folder) => {
    await cp(join(lora, "attention"), folder, { recursive: true });
    const path = join(folder, "adapter_config.json");
    const config = JSON.parse(await readFile(path, "utf8"));
    for (const [key, value] of refused) {
      await writeFile(path, JSON.stringify({ ...config, [key.replace(/:.*/, "")]: value }));
      await assert.rejects(Adapter.load(model, folder), { code: "ERR_FORMAT", message: new RegExp(key) });
    }
    await writeFile(path, JSON.stringify({ ...config, target_modules: ["q_proj", "lm_head"] }));
    await assert.rejects(Adapter.load(model, folder), { code: "ERR_ARGUMENT", message: /called lm_head/ });
    await writeFile(path, JSON.stringify({ ...config, r: 5 }));
    await assert.rejects(Adapter.load(model, folder), { code: "ERR_FORMAT", message: /expected shape/ });
    await writeFile(path, JSON.stringify({ ...config, lora_dropout: 0.1 }));
    await using trained = await Adapter.load(model, folder);
    await assert.rejects(Trainer.open(trained), { code: "ERR_ARGUMENT", message: /lora_dropout 0.1/ });
  });
});

test("how EVA chose what A began with says nothing of what the adapter computes", async () => {
  await withFolder(async (folder) => {
    await cp(join(lora, "attention"), folder, { recursive: true });
    const before = await readPeftConfig(folder);
    const path = join(folder, "adapter_config.json");
    const config = JSON.parse(await readFile(path, "utf8"));
    const eva = { init_lora_weights: "eva", eva_config: { rho: 2, tau: 0.99 } };
    await writeFile(path, JSON.stringify({ ...config, ...eva }));
    assert.deepEqual(await readPeftConfig(folder), before);
  });
});

test("options that cannot be, and adapters of other models, are refused", async () => {
  await using model = await goldenModel("qwen2");
  await using small = await tinyModel();
  await assert.rejects(Adapter.create(model, { rank: 0 }), { code: "ERR_RANGE" });
  // 24 outputs of the widest projection.
  const wide = {
    code: "ERR_RANGE",
    message: "adapter: rank: expected at most 24, the width of the widest projection, got 25",
  };
  await assert.rejects(Adapter.create(small, { rank: 25 }), wide);
  await assert.rejects(Adapter.create(small, { rank: 17, targets: ["q_proj"] }), { code: "ERR_RANGE" });
  (await Adapter.create(small, { rank: 24 })).close();
  await assert.rejects(Adapter.create(model, { targets: "all" as "all-linear" }), { code: "ERR_ARGUMENT" });
  await assert.rejects(Adapter.create(model, { targets: ["embed_tokens"] }), { code: "ERR_ARGUMENT" });
  await assert.rejects(Adapter.create(model, { r: 4 } as object), { code: "ERR_ARGUMENT", message: /"r"/ });
  await assert.rejects(Adapter.load(small, join(lora, "linear")), { code: "ERR_FORMAT" });
  const adapter = await Adapter.create(model, { rank: 2 });
  adapter.close();
  assert.throws(() => adapter.weightsVersion, { code: "ERR_STATE" });
  await using held = await Adapter.create(model, { rank: 2 });
  await using _trainer = await Trainer.open(model);
  await assert.rejects(held.merge(), { code: "ERR_STATE", message: /_proj\.weight is trained/ });
});

test("a merged model is saved as a plain folder", async () => {
  await withFolder(async (folder) => {
    await using model = await goldenModel("qwen2");
    await using adapter = await Adapter.load(model, join(lora, "linear"));
    await adapter.merge();
    await model.save(folder);
    await using plain = await Model.load(folder);
    assertClose((await scoreSequences(plain, goldenSequences)).logprobs, expected.linear!.merged, 1e-5);
  });
});

test("an adapter on experts has as many numbers as are planned, by the names of each family", async () => {
  const shape = { vocabSize: 40, hiddenSize: 16, intermediateSize: 24, numLayers: 2, numHeads: 4 };
  const experts = { numExperts: 4, numChosenExperts: 2 };
  const cases = [
    ["MixtralForCausalLM", ["w1"]],
    ["MixtralForCausalLM", ["experts.3.w2", "q_proj"]],
    ["Qwen3MoeForCausalLM", ["down_proj"]],
    ["Qwen3MoeForCausalLM", "all-linear"],
  ] as const;
  for (const [architecture, targets] of cases) {
    await using model = await Model.create({ ...shape, ...experts, architecture }, { seed: 1 });
    await using adapter = await Adapter.create(model, { rank: 2, targets });
    assert.ok(adapter.numParameters > 0);
    assert.equal(adapterParameters(model.config, { rank: 2, targets }), adapter.numParameters);
    const wrong = Adapter.create(model, { targets: ["w9"] });
    await assert.rejects(wrong, {
      code: "ERR_ARGUMENT",
      message: /no projection called w9; expected all-linear/,
    });
  }
});
