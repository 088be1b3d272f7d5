/** Every type of tensors that llama.cpp's quantiser writes: what its blocks mean, whole models of it, what is refused. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Engine } from "../../../lib/engine/engine.ts";
import { Model } from "../../../lib/model/model.ts";
import { type BlockModel, blockSizeOf, goldenRows, writeBlockModel } from "./block-model.ts";
import { withTensors, withValues } from "./tiny.ts";

const types = [
  ...["F32", "F16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"],
  ...["IQ4_NL", "IQ4_XS", "BF16", "MXFP4"],
];
const golden = goldenRows();
let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-gguf-types-"));
});

after(() => rm(folder, { recursive: true }));

/** Twelve rows of a type as embedding and head of a model. */
async function writeRows(type: string, bytes: Uint8Array, columns = 256): Promise<string> {
  const path = join(folder, "rows.gguf");
  const shape = [12, columns];
  await writeFile(
    path,
    withTensors(columns, [
      { name: "token_embd.weight", shape, type, bytes },
      { name: "output.weight", shape, type, bytes },
    ]),
  );
  return path;
}

for (const type of types) {
  test(`${type} means to the bit what ggml says, extremes included, as embedding and as head`, async () => {
    const rows = golden.get(type);
    assert.ok(rows !== undefined);
    await using model = await Model.load(await writeRows(type, rows.blocks));
    for (const name of ["model.embed_tokens.weight", "lm_head.weight"])
      assert.deepEqual(bitsOf(await model.parameter(name)), bitsOf(rows.numbers), name);
  });
}

const bitsOf = (numbers: Float32Array): Uint32Array => new Uint32Array(numbers.buffer, 0, numbers.length);

const prompt = Int32Array.from({ length: 20 }, (_, i) => (i * 31 + 7) % 48);

async function outputsOf(path: string, dtype: "float32" | "bfloat16") {
  await using model = await Model.load(path, { dtype });
  const names = model.handle.tensors().map(({ name }) => name);
  const parameters = await Promise.all(names.map(async (name) => [name, await model.parameter(name)]));
  const scores = await model.scoreLogprobs(prompt);
  await using engine = await Engine.open(model);
  const sequence = engine.open(prompt);
  const { ids, logprobs } = await sequence.generate({ maxTokens: 24, temperature: 0 });
  sequence.close();
  return { parameters, scores, ids, logprobs };
}

/** What a model computes is what the same numbers in F32 compute. */
async function sameAsPlain(model: BlockModel): Promise<void> {
  const paths = { own: join(folder, "own.gguf"), plain: join(folder, "plain.gguf") };
  await writeBlockModel(paths, model);
  for (const dtype of ["float32", "bfloat16"] as const)
    assert.deepEqual(await outputsOf(paths.own, dtype), await outputsOf(paths.plain, dtype), dtype);
}

for (const type of types) {
  test(`a whole model in ${type} generates and scores as the same numbers in F32, its head tied or not`, async () => {
    for (const isTied of [true, false])
      await sameAsPlain({ hiddenSize: 256, feedForward: 256, isTied, typeOf: () => type });
  });
}

// Rows of 64 are no whole blocks of 256: llama-quantize takes Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K and IQ4_NL
// for the others, as in files of Qwen2.5-0.5B, whose rows have 896.
const mixes = {
  Q4_K_M: { wide: "Q4_K", narrow: "Q5_0", better: "Q6_K" },
  Q5_K_M: { wide: "Q5_K", narrow: "Q5_1", better: "Q6_K" },
  Q2_K: { wide: "Q3_K", narrow: "IQ4_NL", better: "Q4_K" },
  IQ4_XS: { wide: "IQ4_XS", narrow: "IQ4_NL", better: "Q5_K" },
};
for (const [mix, { wide, narrow, better }] of Object.entries(mixes)) {
  test(`a small model in ${mix}, whose narrow rows are ${narrow} and Q8_0, computes what the same numbers in F32 do`, async () => {
    const typeOf = (name: string): string => {
      if (/token_embd|output\.weight/.test(name)) return "Q8_0";
      if (name.includes("ffn_down")) return name.includes("blk.0") ? better : wide;
      return /attn_v/.test(name) ? "Q8_0" : narrow;
    };
    for (const isTied of [true, false])
      await sameAsPlain({ hiddenSize: 64, feedForward: 256, isTied, typeOf });
  });
}

test("Q4_0 keeps its codes and scales where weights are int4, whichever codes a block has", async () => {
  const rows = golden.get("Q4_0");
  assert.ok(rows !== undefined);
  const path = join(folder, "int4.gguf");
  const bytes = rows.blocks.subarray(6 * 8 * 18, 10 * 8 * 18);
  await writeFile(path, withValues({ type: "Q4_0", bytes }));
  await using kept = await Model.load(path, { weights: "int4" });
  const values = await kept.parameter("model.layers.0.self_attn.v_proj.weight");
  assert.deepEqual(values, rows.numbers.slice(6 * 256, 10 * 256));
});

test("every type of ggml that is not read is refused by name and number, with those that are", async () => {
  const names: Readonly<Record<number, string>> = {
    ...{ 9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 21: "IQ3_S" },
    ...{ 22: "IQ2_S", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 31: "Q4_0_4_4" },
    ...{ 34: "TQ1_0", 35: "TQ2_0", 40: "NVFP4", 41: "Q1_0", 42: "Q2_0", 99: "unknown" },
  };
  for (const [number, name] of Object.entries(names)) {
    const path = await writeRows(number, new Uint8Array(12 * 256 * 8));
    for (const options of [{}, { weights: "int8" }] as const)
      await assert.rejects(Model.load(path, options), {
        code: "ERR_FORMAT",
        message: new RegExp(
          `rows.gguf: token_embd.weight: type: expected ${types.join(", ")}, got ${name} \\(${number}\\)`,
        ),
      });
  }
});

for (const type of types.filter((each) => blockSizeOf(each) > 1)) {
  test(`rows that are no whole blocks of ${type} are refused`, async () => {
    const columns = blockSizeOf(type) + 16;
    const path = await writeRows(type, new Uint8Array(12 * columns * 4), columns);
    await assert.rejects(Model.load(path), {
      code: "ERR_FORMAT",
      message: new RegExp(
        `expected rows of ${type} in blocks of ${blockSizeOf(type)}, got ${columns} columns`,
      ),
    });
  });
}

test("an exponent of MXFP4 that is no number is refused", async () => {
  const bytes = new Uint8Array(12 * 8 * 17);
  bytes[17 * 5] = 255;
  await assert.rejects(Model.load(await writeRows("MXFP4", bytes)), { code: "ERR_RANGE", message: /finite/ });
});
