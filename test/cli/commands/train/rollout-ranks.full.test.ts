/** `train --rollout-ranks`: processes that only generate. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, runJson } from "../../run-cli.ts";
import { corpus, folder, index, model, questions } from "../../tiny-corpus.ts";

test("a process that generates and one that trains end with the model and the evaluations of one that does both", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const config = join(folder, "train.json");
  const sizes = { limits: { maxTurns: 2, maxResponseTokens: 8 }, batchQuestions: 2, samples: 2, steps: 2 };
  const evaluation = { evalQuestions: [questions], evalEvery: 1, evalFirst: true };
  const rest = { algorithm: "grpo", learningRate: 0.001 };
  await writeFile(
    config,
    JSON.stringify({ model, index, questions: [questions], ...sizes, ...evaluation, ...rest }),
  );
  const train = (out: string) => ["train", "--config", config, "--out", join(folder, out)];
  await runJson(...train("alone"));
  const launch = ["launch", "--processes", "2", "--logs", join(folder, "logs"), "--"];
  const { code, stderr } = await runCli(...launch, ...train("both"), "--rollout-ranks", "1");
  assert.equal(code, 0, stderr);
  const weights = (out: string) => readFile(join(folder, out, "model", "model.safetensors"));
  assert.deepEqual(await weights("both"), await weights("alone"));
  assert.match(
    await readFile(join(folder, "both", "config.yaml"), "utf8"),
    /^# 2 processes: 1 train, 1 x 1 \(tensor x data\), 1 only generate\n/,
  );
  const metrics = async (out: string) => {
    const lines = (await readFile(join(folder, out, "metrics.jsonl"), "utf8")).trim().split("\n");
    return lines.map((line) => {
      const all = Object.entries(JSON.parse(line) as Record<string, number>);
      return all.filter(([name]) => !/seconds|per_second|process/.test(name));
    });
  };
  assert.deepEqual(await metrics("both"), await metrics("alone"));
});
