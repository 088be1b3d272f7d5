/** A decoder that is shared out over real processes: more ranks, other dtypes, files, adapters, refusals, a rank that is killed. */
import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Adapter } from "../../../lib/model/adapter.ts";
import { type LoadOptions, Model } from "../../../lib/model/model.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { runRanks } from "../../comm/ranks.ts";
import { type Answers, adaptedAnswersOf } from "./answers.ts";
import { compare, folderOf, near, ranksOf } from "./sharded.ts";
import type { Wanted } from "./tensor-rank.ts";

test("four ranks draw the ids of one process", () => compare(4, [["qwen3", {}]], 3e-6));

test("what ranks round or quantise of their slices is scored, to the bit, as it was generated", async () => {
  const forms: LoadOptions[] = [{ dtype: "bfloat16" }, { weights: "int8" }, { weights: "nf4" }];
  const wanted = forms.map((options) => ({
    ...{ what: "answers" as const, folder: folderOf("qwen2"), options },
  }));
  const [told] = await ranksOf(2, wanted);
  assert.deepEqual(
    told!.map((answers) => (answers as Answers).areScored),
    [true, true, true],
  );
});

test("what rank 0 saves is what was loaded, bit for bit", async () => {
  const to = folderOf("saved");
  await ranksOf(2, [{ what: "save", folder: folderOf("llama"), to }]);
  await using saved = await Model.load(to);
  await using model = await Model.load(folderOf("llama"));
  for (const { name } of model.handle.tensors())
    assert.deepEqual(await saved.parameter(name), await model.parameter(name), name);
});

const adapterFile = "adapter_model.safetensors";

/** Copies an adapter; the last number of one tensor is none then. */
async function damage(from: string, to: string, name: string): Promise<void> {
  await cp(from, to, { recursive: true });
  const bytes = await readFile(join(to, adapterFile));
  const size = Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.subarray(8, 8 + size).toString());
  const { data_offsets: ends } = header[name] as { data_offsets: [number, number] };
  bytes.writeFloatLE(Number.NaN, 8 + size + ends[1] - 4);
  await writeFile(join(to, adapterFile), bytes);
}

test("sequences of several adapters on two ranks are those of one process, and adapters are saved and merged", async () => {
  const adapters = [folderOf("first"), folderOf("second")];
  await using model = await Model.load(folderOf("llama"));
  for (const [i, to] of adapters.entries()) {
    await using adapter = await Adapter.create(model, { rank: 2, seed: i });
    await using trainer = await Trainer.open(adapter);
    const tokens = Int32Array.of(3 + i, 9, 4, 8);
    await trainer.accumulate([{ tokens, rows: Int32Array.of(0, 1, 2), weights: Float32Array.of(1, 1, 1) }]);
    await trainer.step({ learningRate: 0.1 });
    await adapter.save(to);
  }
  const [to, damaged] = [folderOf("again"), folderOf("damaged")];
  await damage(adapters[0]!, damaged, "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight");
  const [told] = await ranksOf(2, [{ what: "adapted", folder: folderOf("llama"), adapters, damaged, to }]);
  near(told![0] as Answers, await adaptedAnswersOf(model, adapters), 3e-6);
  const { code, message } = told![1] as { code: string; message: string };
  assert.equal(code, "ERR_RANGE");
  assert.match(message, /^rank 1: .*lora_B.weight: expected finite numbers/);
  assert.deepEqual(await readFile(join(to, adapterFile)), await readFile(join(adapters[0]!, adapterFile)));
  await using adapter = await Adapter.load(model, to);
  const adapted = (await adapter.scoreLogprobs(Int32Array.of(5, 6, 7))).slice(1).map(Number);
  for (const [i, value] of (told![2] as number[]).entries()) assert.ok(Math.abs(value - adapted[i]!) < 1e-4);
});

test("what a rank that follows may not do, and what is not split, is refused by name", async () => {
  const [zero, one] = await ranksOf(2, [{ what: "refusals", folder: folderOf("qwen2") }]);
  const codes = (told: unknown): unknown[] => (told as { code: string }[]).map(({ code }) => code);
  assert.deepEqual(codes(zero![0]), ["ERR_STATE", ...Array(5).fill("ERR_ARGUMENT")]);
  assert.deepEqual(codes(zero![1]), ["ERR_ARGUMENT", "ERR_RANGE", "went on"]);
  assert.deepEqual(codes(one![0]), ["ERR_STATE", "ERR_STATE"]);
  const message =
    "tensorParallel: 2 ranks: expected a number that divides 1 key and value heads; take fewer ranks";
  assert.deepEqual([zero![2], one![1]], Array(2).fill({ code: "ERR_ARGUMENT", message }));
});

test("a killed rank ends what rank 0 generates with an error that names it", async () => {
  const wanted: Wanted[] = [{ what: "death", folder: folderOf("qwen2") }];
  const [zero] = await runRanks("./tensor-rank.js", import.meta.url, {
    ...{ size: 2, args: [JSON.stringify(wanted)] },
  });
  const [ready, end] = zero!.lines as [string, { code: string; message: string }];
  assert.equal(ready, "ready");
  assert.equal(end.code, "ERR_REMOTE");
  assert.match(end.message, /rank 1/);
});
