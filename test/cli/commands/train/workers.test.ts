/** `train --worker` with `serve --accept-weights` from outside. */
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli, runJson, startServing } from "../../run-cli.ts";
import { corpus, folder, index, model, questions } from "../../tiny-corpus.ts";

/** A server of the model for as long as the test. */
async function served(t: TestContext, ...args: string[]): Promise<string> {
  return (await startServing(t, ["serve", "--model", model, "--accept-weights", ...args])).url;
}

test("two steps with a worker alone end with the model of local rollouts, and say who rolled out", async (t) => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const url = await served(t);
  const config = join(folder, "train.json");
  const sizes = { limits: { maxTurns: 2, maxResponseTokens: 8 }, batchQuestions: 2, samples: 2, steps: 2 };
  await writeFile(
    config,
    JSON.stringify({
      model,
      index,
      questions: [questions],
      ...sizes,
      algorithm: "grpo",
      learningRate: 0.001,
    }),
  );
  const train = (out: string, ...args: string[]) =>
    runJson("train", "--config", config, "--out", join(folder, out), ...args);
  const workers = ["--worker", `${url},concurrency=2`, "--local-rollouts", "0"];
  const there = await train("there", ...workers, "--worker-folder", join(folder, "shared"));
  const here = await train("here");
  const weights = ({ model: at }: Record<string, unknown>) => readFile(join(String(at), "model.safetensors"));
  assert.deepEqual(await weights(there), await weights(here));
  const name = new URL(url).host;
  const metrics = there.metrics as Record<string, number>;
  assert.equal(metrics[`workers/rollouts/${name}`], 4);
  assert.equal(metrics[`logprob_gap/max/${name}`], 0);
  const [first] = (await readFile(join(folder, "there", "trajectories.jsonl"), "utf8")).split("\n");
  assert.equal(JSON.parse(first ?? "").worker, name);
  assert.deepEqual(await readdir(join(folder, "shared")), []);
});

test("what workers are given wrong is a usage error or has a remedy", async () => {
  const out = join(folder, "refused");
  const base = ["train", "--model", model, "--index", index, "--questions", questions, "--out", out];
  const idle = await runCli(...base, "--local-rollouts", "2");
  assert.equal(idle.code, 2);
  assert.match(idle.stderr, /--local-rollouts: expected only with --worker/);
  const unknown = await runCli(...base, "--worker", "http://127.0.0.1:9,places=2");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /--worker: .*places/);
  const gone = await runCli(...base, "--worker", "http://127.0.0.1:9,staleness=1");
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /worker 127\.0\.0\.1:9: .*ECONNREFUSED.*Remedy/);
});
