/** Commands from weights to weights on a card, emulated: what drives it is what a user runs. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCli } from "../cli/run-cli.ts";
import { projectRoot } from "../project.ts";

const model = join(projectRoot, "world", "checkpoint");

test("the world's model is tuned, asked and trained with searches on a card", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-card-"));
  try {
    const at = (name: string): string => join(folder, name);
    const run = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runCli(...args);
      assert.equal(code, 0, stderr);
      return stdout + stderr;
    };
    await run("world", "--out", at("world"));
    await run(
      "index",
      "build",
      "--corpus",
      at("world/corpus.jsonl"),
      "--out",
      at("index"),
      "--dense",
      "none",
    );
    for (const name of ["demonstrations", "train"]) {
      const [first] = (await readFile(at(`world/${name}.jsonl`), "utf8")).split("\n");
      await writeFile(at(`${name}.jsonl`), `${first}\n`);
    }
    const card = ["--device", "emulated"];
    const sft = ["sft", "--model", model, "--data", at("demonstrations.jsonl"), "--batch-size", "1"];
    const losses = [];
    for (const where of [card, ["--dtype", "bfloat16"]]) {
      const told = await run(...sft, ...where, "--out", at(`sft-${losses.length}`));
      losses.push(Number(/loss ([\d.]+) {2}grad/.exec(told)?.[1]));
    }
    assert.ok(Math.abs(losses[0]! / losses[1]! - 1) < 0.01, `${losses}`);
    const data = ["--questions", at("train.jsonl"), "--index", at("index"), "--recipe", "world"];
    const step = ["--algorithm", "grpo", "--steps", "1", "--batch-questions", "1", "--samples", "2"];
    const limits = ["--limits", "maxTurns=2,maxResponseTokens=12,maxTokens=200"];
    const told = await run(
      "train",
      "--model",
      at("sft-0/model"),
      ...card,
      ...data,
      ...step,
      ...limits,
      "--out",
      at("rl"),
    );
    assert.match(told, /step 1\/1 {2}reward/);
    assert.match(
      await run("generate", "--model", at("rl/model"), ...card, "--prompt", "Who", "--max-tokens", "3"),
      /\S/,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
