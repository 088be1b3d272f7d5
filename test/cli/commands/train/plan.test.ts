/** `seekrl plan` as a user calls it. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { scalingRows, tableLines } from "../../../plan/make-table.ts";
import { projectRoot } from "../../../project.ts";
import { runCli } from "../../run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "seekrl-"));
after(() => rmSync(folder, { recursive: true }));

test("the table of docs/scaling.md is what the command prints", async () => {
  const page = readFileSync(join(projectRoot, "docs", "scaling.md"), "utf8");
  for (const line of tableLines(await scalingRows())) assert.ok(page.includes(`${line}\n`), line);
});

test("a config.json alone is planned as the published size of the same shape", async () => {
  const path = join(folder, "config.json");
  const shape = {
    ...{
      architectures: ["Qwen2ForCausalLM"],
      vocab_size: 151_936,
      hidden_size: 896,
      intermediate_size: 4864,
    },
    ...{ num_hidden_layers: 24, num_attention_heads: 14, num_key_value_heads: 2, rms_norm_eps: 1e-6 },
    ...{ max_position_embeddings: 32_768, tie_word_embeddings: true },
  };
  writeFileSync(path, JSON.stringify(shape));
  const plans = await Promise.all(
    [path, folder, "Qwen2.5-0.5B"].map(async (model) => {
      const { stdout } = await runCli("plan", "--model", model, "--gpus", "2", "--json");
      return JSON.parse(stdout).plans;
    }),
  );
  assert.deepEqual(plans[0], plans[2]);
  assert.deepEqual(plans[1], plans[2]);
});

test("what does not fit says so, and on how many cards it does", async () => {
  const call = ["plan", "--model", "qwen2.5-32b", "--gpu", "a100"];
  const { code, stdout } = await runCli(...call, "--gpus", "1");
  assert.equal(code, 0);
  assert.match(stdout, /^ZeRO 0 .*: no$/m);
  const [, cards] = /none fits on 1; (\d+) are the fewest/.exec(stdout) ?? [];
  const enough = await runCli(...call, "--gpus", cards!, "--gpus-per-machine", "1", "--json");
  assert.ok(JSON.parse(enough.stdout).plans[0].best.fits);
});

test("an adapter on quantised weights of 32 billion fits on two cards", async () => {
  const options = ["--gpus", "2", "--gpu", "a100", "--lora", "16", "--recipe", "search-r1,algorithm=grpo"];
  const { stdout } = await runCli("plan", "--model", "qwen2.5-32b", ...options, "--weights", "nf4", "--json");
  const { best } = JSON.parse(stdout).plans[0];
  assert.ok(best.fits && best.memory.total < 80e9);
});

test("a plan lists its assumptions", async () => {
  const { stdout } = await runCli(
    "plan",
    "--model",
    "qwen3-4b",
    "--gpus",
    "4",
    "--sft",
    "--network-gbits",
    "100",
  );
  assert.match(stdout, /Computed, not measured/);
  assert.match(stdout, /between machines 100 Gbit\/s a card/);
});

test("an unknown model, weights that cannot be trained and impossible layouts are usage errors", async () => {
  const calls = [
    ["--model", "qwen9", "--gpus", "8"],
    ["--model", "qwen2.5-7b", "--gpus", "8", "--weights", "nf4"],
    ["--model", "qwen2.5-7b", "--gpus", "8", "--tensor", "8"],
    ["--model", "qwen2.5-7b", "--gpus", "0"],
  ];
  const results = await Promise.all(calls.map((call) => runCli("plan", ...call)));
  assert.deepEqual(
    results.map(({ code }) => code),
    [2, 2, 2, 2],
  );
  assert.match(
    results[0]!.stderr,
    /--model qwen9: expected a folder, a config\.json, or one of qwen2\.5-0\.5b/,
  );
  assert.match(results[1]!.stderr, /--weights: expected with --lora/);
  assert.match(results[2]!.stderr, /--gpus 8: .* no layout with tensor 8/);
});
