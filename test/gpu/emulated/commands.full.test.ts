/** Commands from weights to weights on a GPU, emulated: what drives it is what a user runs. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runCli } from "../../cli/run-cli.ts";
import { projectRoot } from "../../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-gpu-"));
after(() => rm(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(...args);
  assert.equal(code, 0, stderr);
  return stdout + stderr;
}

const model = join(projectRoot, "world", "checkpoint");
const gpu = ["--device", "emulated"];
const data = ["--questions", at("train.jsonl"), "--index", at("index"), "--recipe", "world"];
const step = ["--steps", "1", "--batch-questions", "1", "--samples", "2"];
const limits = ["--limits", "maxTurns=2,maxResponseTokens=12,maxTokens=200"];

before(async () => {
  await run("world", "--out", at("world"));
  await run(
    ...["index", "build", "--corpus", at("world/corpus.jsonl"), "--out", at("index"), "--dense", "none"],
  );
  for (const name of ["demonstrations", "train"]) {
    const [first] = (await readFile(at(`world/${name}.jsonl`), "utf8")).split("\n");
    await writeFile(at(`${name}.jsonl`), `${first}\n`);
  }
});

test("the world's model is tuned, asked and trained with searches on a GPU", async () => {
  const sft = ["sft", "--model", model, "--data", at("demonstrations.jsonl"), "--batch-size", "1"];
  const losses = [];
  for (const where of [gpu, ["--dtype", "bfloat16"]]) {
    const told = await run(...sft, ...where, "--out", at(`sft-${losses.length}`));
    losses.push(Number(/loss ([\d.]+) {2}grad/.exec(told)?.[1]));
  }
  assert.ok(Math.abs(losses[0]! / losses[1]! - 1) < 0.01, `${losses}`);
  // Two processes, each with a GPU, share the model.
  const launch = ["launch", "--processes", "2", "--logs", at("logs"), "--", ...sft, ...gpu];
  const shared = await run(...launch, "--tensor-parallel", "2", "--out", at("sft-shared"));
  const loss = Number(/loss ([\d.]+) {2}grad/.exec(shared)?.[1]);
  assert.ok(Math.abs(loss / losses[0]! - 1) < 0.01, `${loss}, ${losses}`);
  const training = ["train", "--model", at("sft-0/model"), ...gpu, ...data, "--algorithm", "grpo"];
  const told = await run(...training, ...step, ...limits, "--out", at("rl"));
  assert.match(told, /step 1\/1 {2}reward/);
  const asked = ["--prompt", "Who", "--max-tokens", "3"];
  assert.match(await run("generate", "--model", at("rl/model"), ...gpu, ...asked), /\S/);
});

test("an adapter is trained beside the model it must not leave, and speaks, on a GPU", async () => {
  const training = ["train", "--model", model, ...gpu, ...data, "--algorithm", "grpo,kl.coef=0.05"];
  await run(...training, ...step, ...limits, "--lora", "4", "--out", at("adapter"));
  const metrics = JSON.parse(await readFile(at("adapter/metrics.jsonl"), "utf8"));
  // Law 4, through the adapter's products; and an adapter begins as its model.
  assert.equal(metrics["logprob_gap/max"], 0);
  assert.ok(Math.abs(metrics["policy/kl_reference"]) < 1e-4 && metrics.grad_norm > 0);
  const asked = ["--prompt", "Who", "--max-tokens", "3"];
  assert.match(await run("generate", "--model", at("adapter/model"), ...gpu, ...asked), /\S/);
});
