/** Training with workers: the weights are those that local rollouts give. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { LoraOptions } from "../../../lib/model/adapter.ts";
import type { Policy } from "../../../lib/model/policy.ts";
import { policyParts } from "../../../lib/model/policy.ts";
import { WorkerPool } from "../../../lib/rollout/workers/worker-pool.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { rl } from "../../../lib/train/rl.ts";
import type { RlMetrics, SampleRollouts } from "../../../lib/train/rl-options.ts";
import { fakeSglang, fakeVllm } from "./fake-servers.ts";
import { localWorld, questions, recipe, workerWorld } from "./served-worker.ts";

type Local = Awaited<ReturnType<typeof localWorld>>;

/** Two steps; the second one's rollouts show whether the first one's weights have arrived. */
async function trained({ policy }: Local, rollout: SampleRollouts, { staleness = 0, numSteps = 2 } = {}) {
  await using trainer = await Trainer.open(policy, { weightDecay: 0 });
  const steps: RlMetrics[] = [];
  await rl({
    learners: { trainer },
    task: { questions, reward: lengthReward, rollout },
    algorithm: { ...algorithms.rloo, kl: undefined },
    batch: { questions: 4, samples: 2, staleness },
    steps: numSteps,
    seed: 5,
    learningRate: { policy: () => 1e-3 },
    onStep: (metrics) => void steps.push(metrics),
  });
  return { steps, weights: await weightsOf(policy) };
}

/** Differs between samples, whatever the model says. */
const lengthReward: Parameters<typeof rl>[0]["task"]["reward"] = ({ segments }) =>
  segments.reduce((sum, { tokens }) => sum + ([...tokens].reduce((a, b) => a + b, 0) % 97), 0) / 97;

async function weightsOf(policy: Policy): Promise<Float32Array[]> {
  const { model, adapter } = policyParts(policy, "test");
  const names = (adapter?.handle ?? model.handle).tensors().map(({ name }) => name);
  return Promise.all(names.map((name) => policy.parameter(name)));
}

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

const ownServer = async (t: TestContext) => workerWorld(t);
const vllmServer = async (t: TestContext) => fakeVllm(t, await localWorld(t));

for (const [what, lora, open] of [
  ["an adapter", { rank: 4 }, ownServer],
  ["a whole model", undefined, ownServer],
  ["an adapter under vLLM", { rank: 4 }, vllmServer],
] as const) {
  test(`rollouts ahead of their step take ${what} of the weights as they come, and no worker is lost`, async (t) => {
    const local = await localWorld(t, { lora });
    const { engine, tokenizer, policy, agent } = local;
    const { url } = await open(t);
    const warnings: string[] = [];
    await using pool = await WorkerPool.open({
      ...{ workers: [{ url, concurrency: 4 }], engine, tokenizer, policy, localConcurrency: 0 },
      agent: (each) => agent(each),
      onWarning: (message) => warnings.push(message),
    });
    const { steps } = await trained(local, pool.rollouts, { staleness: 1, numSteps: 5 });
    assert.deepEqual(warnings, []);
    const staleness = steps.map((metrics) => metrics["staleness/max"]);
    assert.ok(
      staleness.every((each) => each === 0 || each === 1),
      staleness.join(),
    );
    assert.ok(staleness.includes(1));
  });
}
