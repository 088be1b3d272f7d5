/** Training with workers and rollouts ahead of their step. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { WorkerPool } from "../../../connectors/workers/worker-pool.ts";
import { fakeVllm } from "./fake-servers.ts";
import { localWorld, workerWorld } from "./served-worker.ts";
import { trained } from "./worker-training.ts";

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
