/** Quantised weights from outside: written to a folder, or when a folder is loaded. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Adapter } from "../../../../lib/model/adapter.ts";
import { Model } from "../../../../lib/model/model.ts";
import { ChatTemplate } from "../../../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../../../lib/text/tokenizers/tokenizer.ts";
import { writeGguf } from "../../../model/gguf/fixture.ts";
import { runCli } from "../../run-cli.ts";
import { bytesAsGguf, writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const model = join(folder, "model");
await writeTinyModel(model, { hiddenSize: 64, intermediateSize: 256 });

async function runJson<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCli(...args, "--json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as T;
}

/** "1 and so on". */
const ids = ["--ids", "49,32,97,110,100,32,115,111,32,111,110"];

const score = async (...args: string[]): Promise<number[]> =>
  (await runJson<{ logprobs: number[] }>("score", ...args)).logprobs.slice(1);

test("a quantised folder is a whole model: what quantising the original at load gives, tokenizer included", async () => {
  const out = join(folder, "few");
  const { bytes, bytesBefore } = await runJson<{ bytes: number; bytesBefore: number }>(
    ...["quantize", "--model", model, "--out", out, "--weights", "int8", "--dtype", "float32"],
  );
  // One byte for four; the embedding, which is a fifth, stays.
  assert.ok(bytes < 0.5 * bytesBefore, `${bytes} of ${bytesBefore}`);
  assert.deepEqual(
    await score("--model", out, ...ids),
    await score("--model", model, "--weights", "int8", ...ids),
  );
  const config = JSON.parse(await readFile(join(out, "config.json"), "utf8")) as Record<string, unknown>;
  assert.deepEqual(config.quantization_config, { quant_method: "seekrl", weights: "int8" });
  const greedy = (...of: string[]) =>
    runJson("generate", ...of, "--prompt", "1 and ", "--max-tokens", "8", "--temperature", "0");
  assert.deepEqual(await greedy("--model", out), await greedy("--model", model, "--weights", "int8"));
  const again = await runCli("quantize", "--model", model, "--out", out, "--weights", "nf4");
  assert.equal(again.code, 2);
  assert.match(again.stderr, /holds a model already/);
});

test("a GGUF file is quantised, and merged with an adapter, into folders with its tokenizer and template", async () => {
  const path = join(folder, "letters.gguf");
  await using original = await Model.load(model);
  const chat = "{{ bos_token }}{% for message in messages %}{{ message.content }}{% endfor %}";
  await writeGguf(path, original, {
    type: "F32",
    tokenizer: { ...bytesAsGguf, "tokenizer.ggml.bos_token_id": 256, "tokenizer.chat_template": chat },
  });
  const [few, merged, adapted] = ["gguf-few", "gguf-merged", "gguf-adapter"].map((name) =>
    join(folder, name),
  );
  await runJson("quantize", "--model", path, "--out", few!, "--weights", "int8", "--dtype", "float32");
  await using adapter = await Adapter.create(original, { rank: 2 });
  await adapter.save(adapted!);
  await runJson("merge", "--model", path, "--adapter", adapted!, "--out", merged!);
  const told = await score("--model", path, ...ids);
  assert.deepEqual(await score("--model", merged!, ...ids), told);
  for (const out of [few!, merged!]) {
    const [tokenizer, source] = [await Tokenizer.load(out), await Tokenizer.load(path)];
    assert.deepEqual(tokenizer.encode("né <|end|>"), source.encode("né <|end|>"));
    assert.deepEqual([tokenizer.bosId, tokenizer.eosIds], [source.bosId, source.eosIds]);
    const template = await ChatTemplate.load(out);
    assert.equal(template?.render([{ role: "user", content: "hello" }]), "<|end|>hello");
  }
});

test("an adapter is to be merged before it is quantised, and a merge replaces no model", async () => {
  const adapted = join(folder, "adapter");
  await using original = await Model.load(model);
  await using adapter = await Adapter.create(original, { rank: 2 });
  await adapter.save(adapted);
  const quantised = await runCli(
    "quantize",
    "--model",
    adapted,
    "--out",
    join(folder, "q"),
    "--weights",
    "int8",
  );
  assert.equal(quantised.code, 2);
  assert.match(quantised.stderr, /is an adapter. Remedy: seekrl merge/);
  for (const [out, held] of [
    [model, "a model already"],
    [adapted, "an adapter"],
  ] as const) {
    const merged = await runCli("merge", "--model", model, "--adapter", adapted, "--out", out);
    assert.equal(merged.code, 2);
    assert.ok(merged.stderr.includes(`holds ${held}`), merged.stderr);
  }
});

test("sft says that quantised weights cannot be trained before it plans anything", async () => {
  const data = join(folder, "data.jsonl");
  await writeFile(data, `${JSON.stringify({ prompt: "1 and ", completion: "2" })}\n`);
  const out = ["--out", join(folder, "never"), "--dry-run"];
  const given = ["sft", "--model", model, "--weights", "int8", "--data", data, ...out];
  const { code, stdout, stderr } = await runCli(...given);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /are int8 and cannot be trained. Remedy: --lora/);
  const misspelt = await runCli(...given, "--lora", "2,targets=q_prj");
  assert.match(
    misspelt.stderr,
    /no projection called q_prj; expected all-linear, or some of .*k_proj, .*q_proj/,
  );
  const planned = await runCli(...given, "--lora", "2");
  assert.equal(planned.code, 0);
  assert.match(planned.stderr, /^model .* parameters, float32, int8 on cpu$/m);
});
