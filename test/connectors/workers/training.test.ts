/** Training with workers: the weights are those that local rollouts give. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { WorkerPool } from "../../../connectors/workers/worker-pool.ts";
import type { LoraOptions } from "../../../lib/model/form/lora-options.ts";
import { fakeSglang, fakeVllm } from "./fake-servers.ts";
import { localWorld, recipe, workerWorld } from "./served-worker.ts";
import { trained } from "./worker-training.ts";

async function withWorkers(t: TestContext, lora: LoraOptions | undefined, localConcurrency: number) {
  const local = await localWorld(t, { lora });
  const { engine, tokenizer, policy, agent } = local;
  const [one, two] = [await workerWorld(t), await workerWorld(t)];
  await using pool = await WorkerPool.open({
    workers: [
      { url: one.url, concurrency: 4 },
      { url: two.url, concurrency: 4 },
    ],
    ...{ engine, tokenizer, policy, localConcurrency },
    agent: (each) => agent(each),
  });
  const done = await trained(local, pool.rollouts);
  return { ...done, names: [one, two].map(({ url }) => new URL(url).host) };
}

for (const [what, lora] of [
  ["an adapter", { rank: 4 }],
  ["a whole model", undefined],
] as const) {
  test(`two steps of ${what} with workers end with the bits of local rollouts, and tell each one's gap`, async (t) => {
    assert.equal(recipe.sampling.temperature, 1);
    const alone = await localWorld(t, { lora });
    const expected = await trained(alone, alone.agent(alone.engine).rollouts);
    for (const localConcurrency of [0, 4]) {
      const { steps, weights, names } = await withWorkers(t, lora, localConcurrency);
      assert.deepEqual(weights, expected.weights);
      for (const metrics of steps) {
        for (const name of localConcurrency === 0 ? names : [...names, "local"]) {
          assert.ok(metrics[`workers/rollouts/${name}`]! > 0, name);
          assert.equal(metrics[`logprob_gap/max/${name}`], 0);
        }
        assert.equal(metrics["workers/moved"], 0);
      }
    }
  });
}

for (const [what, lora, fake, route] of [
  ["vLLM, which loads adapters", { rank: 4 }, fakeVllm, "/v1/load_lora_adapter"],
  ["SGLang, which loads whole models", undefined, fakeSglang, "/update_weights_from_disk"],
  ["SGLang, which loads adapters", { rank: 4 }, fakeSglang, "/load_lora_adapter"],
] as const) {
  test(`${what}, has each step's weights before it rolls out`, async (t) => {
    const [local, there] = [await localWorld(t, { lora }), await localWorld(t)];
    const server = await fake(t, there, { extraTokens: 2 });
    const { engine, tokenizer, policy, agent } = local;
    const folder = await mkdtemp(join(tmpdir(), "seekrl-shared-"));
    t.after(() => rm(folder, { recursive: true }));
    const pool = await WorkerPool.open({
      ...{ workers: [{ url: server.url }], engine, tokenizer, policy, folder, localConcurrency: 0 },
      agent: (each) => agent(each),
    });
    const began = policy.weightsVersion;
    const { steps } = await trained(local, pool.rollouts);
    await pool.close();
    // What was sampled elsewhere has the trainer's own log-probabilities, of the weights as they were in each step.
    assert.deepEqual(
      steps.map((metrics) => metrics[`logprob_gap/max/${server.name}`]),
      [0, 0],
    );
    const loads = server.asked.filter(({ path }) => path === route);
    assert.equal(loads.length, 2);
    for (const [i, { body }] of loads.entries()) {
      assert.equal(body.lora_path ?? body.model_path, join(folder, `version-${began + i}`));
    }
    const unloads = server.asked.filter(({ path }) => path.endsWith("unload_lora_adapter"));
    assert.equal(unloads.length, lora === undefined ? 0 : 2);
    assert.deepEqual(await readdir(folder), []);
  });
}
