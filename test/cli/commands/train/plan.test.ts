/** `seekrl plan` as a user calls it. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { scalingRows, tableLines } from "../../../plan/make-table.ts";
import { projectRoot } from "../../../project.ts";
import { runCli } from "../../run-cli.ts";
import { withVariables } from "../../variables.ts";

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

test("what does not fit says so, and on how many GPUs it does", async () => {
  const call = ["plan", "--model", "qwen2.5-32b", "--gpu", "a100"];
  const { code, stdout, stderr } = await runCli(...call, "--gpus", "1");
  assert.equal(code, 1);
  assert.match(stderr, /^ERR_MEMORY: --gpus 1: no layout of qwen2\.5-32b fits into a100$/m);
  assert.match(stdout, /^ZeRO 0 .*: no$/m);
  const [, gpus] = /none fits on 1; (\d+) are the fewest/.exec(stdout) ?? [];
  const enough = await runCli(...call, "--gpus", gpus!, "--json");
  assert.ok(JSON.parse(enough.stdout).plans[0].best.fits);
});

test("the best layout is one that a job can have, where one of these fits; others have a star", async () => {
  const call = ["plan", "--model", "qwen2.5-7b", "--gpus", "64"];
  const { plans } = JSON.parse((await runCli(...call, "--json")).stdout);
  const { best, layouts } = plans[0];
  assert.ok(best.isThere && best.fits);
  for (const { layout, isThere } of layouts) assert.equal(isThere, [1, 64].includes(layout.tensor));
  const faster = layouts.filter((each: typeof best) => each.fits && each.seconds.total < best.seconds.total);
  assert.ok(faster.length > 0 && faster.every((each: typeof best) => !each.isThere));
  const { stdout } = await runCli(...call);
  assert.match(stdout, /^ZeRO 3, tensor 2 \* /m);
  // The first row is the one that is recommended, and its call is one that launch and train take.
  const [, first] = /^layout .*\n(.*?) {2,}/m.exec(stdout) ?? [];
  assert.equal(first, `ZeRO ${best.layout.zero}`);
  const launch = "seekrl launch --processes 8 --machines 8 --machine N --address HOST --port PORT";
  const train = `train --zero ${best.layout.zero} --device cuda`;
  assert.ok(stdout.includes(`fastest that runs today: ${launch} -- ${train}`), stdout);
});

test("without a network the sizes that need none are named, and help marks what must be given", async () => {
  using _away = withVariables({ HF_HUB_OFFLINE: "1", HF_HUB_CACHE: join(folder, "hub") });
  const away = await runCli("plan", "--model", "acme/large", "--gpus", "8");
  assert.equal(away.code, 1);
  assert.match(
    away.stderr,
    /acme\/large.*Remedy: a config\.json, or a size that needs no network: qwen2\.5-0\.5b, /,
  );
  const { stdout } = await runCli("plan", "--help");
  assert.match(stdout.replace(/\s+/g, " "), /--gpus <n> .* 8,64,512\. Required\./);
  assert.equal((await runCli("plan")).stderr, "error: --model, --gpus: required\n");
});

test("the fewest GPUs are the same from whichever number the search begins", async () => {
  const fewest = async (gpus: string): Promise<number> => {
    const { stdout } = await runCli("plan", "--model", "qwen2.5-72b", "--gpus", gpus, "--json");
    return JSON.parse(stdout).plans[0].enough.gpus;
  };
  const [one, two] = [await fewest("1"), await fewest("2")];
  assert.deepEqual([one, typeof one], [two, "number"]);
});

test("an adapter on quantised weights of 32 billion fits on two GPUs", async () => {
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
  assert.match(stdout, /between machines 100 Gbit\/s a GPU/);
});

test("an unknown model, weights that cannot be trained and impossible layouts are usage errors", async () => {
  const calls = [
    [
      ["--model", "qwen9", "--gpus", "8"],
      /--model qwen9: expected a folder, a config\.json, a model of the hub \(OWNER\/NAME\), or one of qwen2\.5-0\.5b/,
    ],
    [["--gpus", "8", "--weights", "nf4"], /--weights: expected with --lora/],
    [["--gpus", "8", "--tensor", "8"], /--gpus 8: .* no layout with --tensor 8/],
    [["--gpus", "0"], /--gpus: expected number to be >=1, got \[0\]/],
    [["--gpus", "1e9"], /--gpus: expected number to be <=4096, got \[1000000000\]/],
    [["--gpus", "8,8"], /--gpus: expected each number once, got \[8,8\]/],
    [["--gpus", "8", "--sft", "--rollout-gpus", "4"], /--rollout-gpus: expected 0 with --sft.*, got 4/],
    [["--gpus", "8", "--sft", "--staleness", "2"], /--staleness: expected 0 with --sft.*, got 2/],
    [["--gpus", "8", "--rollout-gpus", "8"], /--rollout-gpus: expected fewer than the 8 of --gpus, got 8/],
    [["--gpus", "8", "--tensor", "3"], /--tensor: expected a power of two, got 3/],
    [
      ["--gpus", "12", "--gpus-per-machine", "6", "--tensor", "4"],
      /--tensor: expected .* divides .* the 6 of a machine/,
    ],
    [["--gpus", "8", "--zero", "4"], /--zero: expected one of 0, 1, 2, 3, got 4/],
  ] as const;
  for (const [call, message] of calls) {
    const { code, stderr } = await runCli("plan", "--model", "qwen2.5-7b", ...call);
    assert.equal(code, 2, call.join(" "));
    assert.match(stderr, message);
  }
});
