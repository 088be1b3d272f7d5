/** Adapters from outside: trained by sft, gone on with, generated with, merged. */
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Model } from "../../../../lib/model/model.ts";
import { findWeights, storedDtypeOf } from "../../../../lib/model/model-folder.ts";
import { runCli } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const [model, data, run] = ["model", "data.jsonl", "run"].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
await writeTinyModel(model);
const rows = Array.from({ length: 8 }, (_, i) => ({ prompt: `${i} and `, completion: "so on" }));
await writeFile(data, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
const rates = ["--data", data, "--learning-rate", "0.02", "--batch-size", "4", "--epochs", "4"];

async function runJson<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCli(...args, "--json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as T;
}

const score = async (...args: string[]): Promise<(number | null)[]> =>
  (await runJson<{ logprobs: (number | null)[] }>("score", "--ids", "49,32,97,110,100", ...args)).logprobs;

function assertClose(actual: readonly (number | null)[], expected: readonly (number | null)[]): void {
  assert.deepEqual([actual.length, actual[0], expected[0]], [expected.length, null, null]);
  for (const [i, value] of expected.slice(1).entries()) assert.ok(Math.abs(actual[i + 1]! - value!) < 1e-5);
}

test("sft trains an adapter, whose folder stands for its model; merge makes a plain folder of both", async () => {
  await runJson("sft", "--model", model, ...rates, "--out", run, "--lora", "4,targets=q_proj+down_proj");
  const trained = join(run, "model");
  assert.deepEqual((await readdir(trained)).sort(), [
    "adapter_config.json",
    "adapter_model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
  ]);
  const on = await score("--model", trained);
  assert.deepEqual(await score("--model", model, "--adapter", trained), on);
  assert.notDeepEqual(await score("--model", model), on);
  const merged = join(folder, "merged");
  const { stdout } = await runCli("merge", "--model", trained, "--out", merged);
  assert.equal(stdout, `${merged}: ${model} with ${trained} merged into its weights\n`);
  assertClose(await score("--model", merged), on);
  const asked = ["--ids", "49,32", "--max-tokens", "4", "--temperature", "0"];
  const { samples } = await runJson<{ samples: object[] }>("generate", "--model", merged, ...asked);
  const own = await runJson<{ samples: { ids: number[] }[] }>("generate", "--model", trained, ...asked);
  assert.deepEqual((samples[0] as { ids: number[] }).ids, own.samples[0]?.ids);
});

test("a merge keeps the form in which the model's weights are stored, unless another is asked for", async () => {
  const stored = join(folder, "stored");
  const trained = ["--adapter", join(run, "model")];
  for (const form of ["bfloat16", "float16", "float32"] as const) {
    await using plain = await Model.load(model);
    await plain.save(stored, { dtype: form });
    await cp(join(model, "tokenizer.json"), join(stored, "tokenizer.json"));
    const formOf = async (out: string, ...args: string[]) => {
      const { dtype } = await runJson<{ dtype: string }>(
        "merge",
        "--model",
        stored,
        ...trained,
        ...args,
        "--out",
        out,
      );
      assert.equal(storedDtypeOf(await findWeights(out)), dtype);
      assert.equal(JSON.parse(await readFile(join(out, "config.json"), "utf8")).torch_dtype, dtype);
      return dtype;
    };
    assert.equal(await formOf(join(folder, `kept-${form}`)), form);
    const other = form === "bfloat16" ? "float32" : "bfloat16";
    assert.equal(await formOf(join(folder, `asked-${form}`), "--stored-dtype", other), other);
  }
});

test("an adapter is trained on weights in NF4, whose plan counts them so, and stands for them", async () => {
  const out = join(folder, "qlora");
  const asked = ["sft", "--model", model, ...rates, "--out", out, "--weights", "nf4", "--lora", "4"];
  const planned = await runJson<{ memory: { weights: number } }>(...asked, "--dry-run");
  const plain = await runJson<{ memory: { weights: number } }>(
    ...["sft", "--model", model, ...rates, "--out", out, "--lora", "4", "--dry-run"],
  );
  assert.ok(planned.memory.weights < plain.memory.weights);
  const { loss } = await runJson<{ loss: number }>(...asked);
  assert.ok(Number.isFinite(loss));
  const trained = ["--model", model, "--adapter", join(out, "model")];
  const [on, off] = [
    await score(...trained, "--weights", "nf4"),
    await score("--model", model, "--weights", "nf4"),
  ];
  // The adapter says on which weights it was trained.
  assert.deepEqual(await score(...trained), on);
  assert.deepEqual(await score("--model", join(out, "model")), on);
  const other = await runCli("score", "--ids", "49,32", ...trained, "--weights", "plain");
  assert.match(other.stderr, /^warning: .* was trained on nf4 weights and is put on plain ones/m);
  const sum = (logprobs: readonly (number | null)[]) =>
    logprobs.reduce<number>((all, each) => all + (each ?? 0), 0);
  assert.ok(sum(on) > sum(off), "it has learnt what it was trained on");
});

test("training goes on with an adapter, and a run of one is refused under another", async () => {
  const further = join(folder, "further");
  await runJson("sft", "--model", join(run, "model"), ...rates, "--out", further);
  const [before, after] = [
    await score("--model", join(run, "model")),
    await score("--model", join(further, "model")),
  ];
  const sum = (logprobs: readonly (number | null)[]) =>
    logprobs.reduce<number>((all, each) => all + (each ?? 0), 0);
  assert.ok(sum(after) > sum(before));
  const other = await runCli("sft", "--model", model, ...rates, "--out", run, "--lora", "5");
  assert.equal(other.code, 1);
  const differences =
    /begun with other options:\n {2}--lora rank: expected 4, got 5\n {2}--lora targets\.0: /;
  assert.match(other.stderr, differences);
  assert.doesNotMatch(other.stderr, /lora\.rank/, "a flag and its setting are one difference");
  assert.match(other.stderr, /\nRemedy: give the same again, or choose another folder\n$/);
  const both = await runCli("sft", "--model", join(run, "model"), ...rates, "--out", run, "--lora", "5");
  assert.equal(both.code, 2);
  assert.match(both.stderr, /--lora: expected without --adapter/);
});

test("targets are joined by + or a list in a file, and commas between them are explained", async () => {
  const out = join(folder, "targets");
  const config = join(folder, "sft.yaml");
  const asked = ["--model", model, ...rates, "--out", out, "--dry-run"];
  const planned = (...more: string[]) => runJson<{ memory: { gradients: number } }>("sft", ...asked, ...more);
  const joined = await planned("--lora", "2,targets=q_proj+v_proj");
  await writeFile(config, "lora: {rank: 2, targets: [q_proj, v_proj]}\n");
  assert.deepEqual((await planned("--config", config)).memory.gradients, joined.memory.gradients);
  await writeFile(config, "lora: {rank: 2, targets: q_proj+v_proj}\n");
  assert.deepEqual((await planned("--config", config)).memory.gradients, joined.memory.gradients);
  const { code, stderr } = await runCli("sft", ...asked, "--lora", "2,targets=q_proj,v_proj");
  assert.equal(code, 2);
  assert.match(stderr, /the values of targets are joined by \+: targets=q_proj\+v_proj/);
});

test("an adapter is trained at its usual rate, the weights at theirs, unless another is given", async () => {
  const rateOf = async (...more: string[]): Promise<string | undefined> => {
    const asked = ["--model", model, "--data", data, "--out", join(folder, "rate"), "--dry-run"];
    const { stderr } = await runCli("sft", ...asked, ...more);
    return /, rate ([\d.]+)$/m.exec(stderr)?.[1];
  };
  assert.equal(await rateOf(), "0.00001");
  assert.equal(await rateOf("--lora", "2"), "0.0002");
  assert.equal(await rateOf("--adapter", join(run, "model")), "0.0002");
  assert.equal(await rateOf("--lora", "2", "--learning-rate", "0.5"), "0.5");
});

test("an adapter on another model than it names is warned of; one whose model is gone under the same name is not", async () => {
  const trained = join(run, "model");
  const warning = /^warning: .* names .*model as its model and is put on .*; only shapes are compared/m;
  const on = async (base: string) =>
    (await runCli("score", "--ids", "49,32", "--model", base, "--adapter", trained)).stderr;
  assert.equal(await on(model), "");
  const other = join(folder, "other");
  await writeTinyModel(other);
  assert.match(await on(other), warning);
  const same = join(folder, "elsewhere", "model");
  await mkdir(join(folder, "elsewhere"));
  await rename(model, same);
  assert.equal(await on(same), "");
  assert.match(await on(other), warning);
  await rename(same, model);
  const wide = join(folder, "wide");
  await writeTinyModel(wide, { hiddenSize: 32 });
  assert.match(await on(wide), /ERR_FORMAT: .*: expected shape \[4, 32\], got \[4, 16\]/);
});

test("a merge into quantised weights is refused with the remedy", async () => {
  const [trained, few] = [join(run, "model"), join(folder, "few")];
  await runJson("quantize", "--model", model, "--out", few, "--weights", "nf4");
  const merge = (...args: string[]) => runCli("merge", ...args, "--out", join(folder, "never"));
  const flag = await merge("--model", trained, "--weights", "nf4");
  assert.equal(flag.code, 2);
  assert.match(flag.stderr, /--weights: a merge changes plain weights\. Remedy: merge without it/);
  const held = await merge("--model", few, "--adapter", trained);
  assert.equal(held.code, 1);
  assert.match(held.stderr, /holds nf4, not plain; take the original folder/);
});

test("an adapter whose model has moved is refused with the remedy, and runs with both folders", async () => {
  const moved = join(folder, "moved");
  await rename(model, moved);
  const trained = join(run, "model");
  const { code, stderr } = await runCli("score", "--ids", "49,32", "--model", trained);
  assert.equal(code, 1);
  assert.match(stderr, /the model of this adapter is not there: .*\. Remedy: --model/);
  assert.equal((await score("--model", moved, "--adapter", trained)).length, 5);
  await rename(moved, model);
  const merge = await runCli("merge", "--model", model, "--out", join(folder, "none"));
  assert.equal(merge.code, 2);
});
