/** What an encoder's folder says, and which folders are refused. */
import assert from "node:assert/strict";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Encoder, type EncoderOptions } from "../../../lib/search/embed/encoder.ts";
import { copyOf, embedders, golden, texts, worstDifference } from "./golden.ts";

async function refuses(folder: string, message: RegExp, options: EncoderOptions = {}): Promise<void> {
  await assert.rejects(Encoder.open(folder, options), (error: Error & { code?: string }) => {
    assert.match(error.message, message);
    return error.code === "ERR_FORMAT" || error.code === "ERR_ARGUMENT" || error.code === "ERR_RANGE";
  });
}

test("the folder's settings are read, and options override them", async () => {
  await using encoder = await Encoder.open(join(golden, "xlm-roberta"));
  assert.deepEqual(encoder.settings, {
    pooling: "mean",
    normalise: true,
    queryPrefix: "query: ",
    passagePrefix: "passage: ",
    maxTokens: 48,
    lowerCase: false,
  });
  await using other = await Encoder.open(join(golden, "xlm-roberta"), {
    queryPrefix: "passage: ",
    maxTokens: 20,
  });
  assert.deepEqual(await other.embedQueries(texts.queries), await encoder.embedPassages(texts.queries));
});

test("the older spelling of pooling, length and lower case is read", async () => {
  const folder = await copyOf("bert-cls");
  const pooling = {
    word_embedding_dimension: 32,
    pooling_mode_cls_token: false,
    pooling_mode_mean_tokens: true,
  };
  await writeFile(join(folder, "1_Pooling", "config.json"), JSON.stringify(pooling));
  const length = { max_seq_length: 24, do_lower_case: true };
  await writeFile(join(folder, "sentence_bert_config.json"), JSON.stringify(length));
  await using encoder = await Encoder.open(folder);
  const { pooling: read, maxTokens, lowerCase } = encoder.settings;
  assert.deepEqual({ read, maxTokens, lowerCase }, { read: "mean", maxTokens: 24, lowerCase: true });
});

test("a plain folder needs to be told how to pool and gives vectors as they are", async () => {
  const folder = await copyOf("bert-cls");
  await rm(join(folder, "modules.json"));
  await refuses(folder, /expected the option pooling: cls, mean or last/);
  await using plain = await Encoder.open(folder, { pooling: "cls" });
  await using normalised = await Encoder.open(folder, { pooling: "cls", normalise: true });
  const vector = await plain.embedPassages(["a"]);
  assert.ok(Math.abs(Math.hypot(...vector) - 1) > 0.01);
  assert.ok(Math.abs(Math.hypot(...(await normalised.embedPassages(["a"]))) - 1) < 1e-6);
});

test("what is not supported is refused by name", async () => {
  const folder = await copyOf("bert-cls");
  const modules = JSON.parse(await readFile(join(folder, "modules.json"), "utf8")) as object[];
  const dense = { idx: 3, name: "3", path: "3_Dense", type: "sentence_transformers.models.Dense" };
  await writeFile(join(folder, "modules.json"), JSON.stringify([...modules, dense]));
  await refuses(
    folder,
    /modules\.json: expected Transformer, Pooling .* got Transformer, Pooling, Normalize, Dense/,
  );
  await writeFile(join(folder, "modules.json"), JSON.stringify(modules));
  await writeFile(join(folder, "1_Pooling", "config.json"), JSON.stringify({ pooling_mode: "max" }));
  await refuses(folder, /pooling: expected cls, mean or lasttoken, got max/);
  const config = JSON.parse(await readFile(join(folder, "config.json"), "utf8")) as object;
  const options = { pooling: "cls" } as const;
  await rm(join(folder, "modules.json"));
  for (const [wrong, message] of [
    [{ model_type: "t5" }, /model_type: expected bert, .* got t5/],
    [{ hidden_act: "relu" }, /hidden_act: expected gelu, got relu/],
    [{ position_embedding_type: "relative_key" }, /position_embedding_type: expected absolute/],
    [{ num_attention_heads: 5 }, /5 heads do not divide the width 32/],
    [{ hidden_size: 64 }, /expected shape \[\d+, 64\], got \[\d+, 32\]/],
    [{ num_hidden_layers: 3 }, /missing tensor encoder\.layer\.2\./],
    [{ num_hidden_layers: 1 }, /holds a tensor that the model has not: encoder\.layer\.1\./],
  ] as const) {
    await writeFile(join(folder, "config.json"), JSON.stringify({ ...config, ...wrong }));
    await refuses(folder, message, options);
  }
  await refuses(join(golden, "bert-cls"), /maxTokens: expected 8 to 64, got 65/, { maxTokens: 65 });
});

test("an encoder without tokenizer.json is refused, whatever else lies there", async () => {
  const folder = await copyOf("xlm-roberta");
  await rename(join(folder, "tokenizer.json"), join(folder, "sentencepiece.bpe.model"));
  await assert.rejects(Encoder.open(folder), { code: "ERR_IO", message: /tokenizer\.json/ });
});

/** Gives the tensors of a folder's weights file other names. */
async function renameTensors(folder: string, nameOf: (name: string) => string): Promise<void> {
  const path = join(folder, "model.safetensors");
  const bytes = await readFile(path);
  const headerEnd = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, headerEnd)) as Record<string, unknown>;
  const named = Object.entries(header).map(([name, value]) => [
    name === "__metadata__" ? name : nameOf(name),
    value,
  ]);
  const text = Buffer.from(JSON.stringify(Object.fromEntries(named)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  await writeFile(path, Buffer.concat([length, text, bytes.subarray(headerEnd)]));
}

test("weights may carry the names of a generator or of early releases", async () => {
  const ways: readonly [string, (name: string) => string][] = [
    ["qwen3-last", (name) => `model.${name}`],
    [
      "bert-cls",
      (name) =>
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
    ],
    ["xlm-roberta", (name) => `roberta.${name}`],
  ];
  for (const [name, nameOf] of ways) {
    const folder = await copyOf(name);
    await renameTensors(folder, nameOf);
    await using renamed = await Encoder.open(folder);
    const expected = embedders[name]?.queries ?? [];
    assert.ok(worstDifference(await renamed.embedQueries(texts.queries), expected) < 1e-4);
  }
});

test("a fingerprint names the weights and the settings", async () => {
  const folder = await copyOf("bert-cls");
  const fingerprintOf = async (options: EncoderOptions = {}): Promise<string> => {
    await using encoder = await Encoder.open(folder, options);
    return encoder.fingerprint();
  };
  const first = await fingerprintOf();
  assert.match(first, /^[0-9a-f]{64}$/);
  assert.equal(await fingerprintOf({ dtype: "bfloat16" }), first);
  assert.notEqual(await fingerprintOf({ queryPrefix: "query: " }), first);
  const path = join(folder, "model.safetensors");
  const bytes = await readFile(path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  await writeFile(path, bytes);
  assert.notEqual(await fingerprintOf(), first);
});
