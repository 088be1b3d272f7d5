/** Weights in few bits from outside: quantised to a folder, or when a folder is loaded. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCli } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const model = join(folder, "model");
await writeTinyModel(model);

async function runJson<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCli(...args, "--json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as T;
}

/** "1 and so on". */
const ids = ["--ids", "49,32,97,110,100,32,115,111,32,111,110"];

const score = async (...args: string[]): Promise<number[]> =>
  (await runJson<{ logprobs: number[] }>("score", ...args)).logprobs.slice(1);

test("a quantised folder is a whole model: what loading the original in few bits gives, tokenizer included", async () => {
  const out = join(folder, "few");
  const { bytes, bytesBefore } = await runJson<{ bytes: number; bytesBefore: number }>(
    ...["quantize", model, out, "--weights", "int8", "--dtype", "float32"],
  );
  // Of so small a model the blocks are mostly filling.
  assert.ok(bytes > 0 && bytesBefore > 0);
  assert.deepEqual(
    await score("--model", out, ...ids),
    await score("--model", model, "--weights", "int8", ...ids),
  );
  const config = JSON.parse(await readFile(join(out, "config.json"), "utf8")) as Record<string, unknown>;
  assert.deepEqual(config.quantization_config, { quant_method: "seekrl", weights: "int8" });
  const { samples } = await runJson<{ samples: { text: string }[] }>(
    ...["generate", "--model", out, "--prompt", "1 and ", "--max-tokens", "3"],
  );
  assert.equal(samples.length, 1);
  const again = await runCli("quantize", model, out, "--weights", "nf4");
  assert.equal(again.code, 2);
  assert.match(again.stderr, /holds a model already/);
});
