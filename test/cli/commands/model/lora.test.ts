/** Adapters from outside: trained by sft, gone on with, generated with, merged. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
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
  for (const [i, value] of expected.entries()) assert.ok(Math.abs((actual[i] ?? 0) - (value ?? 0)) < 1e-5);
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
  await runJson("merge", "--model", trained, "--out", merged);
  assertClose(await score("--model", merged), on);
  const asked = ["--ids", "49,32", "--max-tokens", "4", "--temperature", "0"];
  const { samples } = await runJson<{ samples: object[] }>("generate", "--model", merged, ...asked);
  const own = await runJson<{ samples: { ids: number[] }[] }>("generate", "--model", trained, ...asked);
  assert.deepEqual((samples[0] as { ids: number[] }).ids, own.samples[0]?.ids);
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
  const trained = ["--model", model, "--adapter", join(out, "model"), "--weights", "nf4"];
  const [on, off] = [await score(...trained), await score("--model", model, "--weights", "nf4")];
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
  assert.match(other.stderr, /lora/);
  const both = await runCli("sft", "--model", join(run, "model"), ...rates, "--out", run, "--lora", "5");
  assert.equal(both.code, 2);
  assert.match(both.stderr, /--lora: expected without --adapter/);
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
