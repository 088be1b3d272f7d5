/** Our own server as a worker: what it samples is what the local engine samples, token for token. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkerPool } from "../../../connectors/workers/worker-pool.ts";
import { localWorld, outcome, questions, workerWorld } from "./served-worker.ts";

const samplings = [
  { temperature: 1 },
  { temperature: 0 },
  { temperature: 0.7, topP: 0.9 },
  { temperature: 4 },
];

test("a worker's trajectories have the ids, log-probabilities and segments of the local engine's", async (t) => {
  const { engine, tokenizer, policy, agent } = await localWorld(t);
  const { url } = await workerWorld(t);
  const stops = new Set<string>();
  for (const sampling of samplings) {
    const local = agent(engine, sampling);
    await using pool = await WorkerPool.open({
      workers: [{ url }],
      agent: (each) => agent(each, sampling),
      ...{ engine, tokenizer, policy, localConcurrency: 0 },
    });
    for (const question of questions) {
      const how = { seed: 3, samples: 2 };
      const [here, there] = await Promise.all([local.rollouts(question, how), pool.rollouts(question, how)]);
      assert.deepEqual(there.map(outcome), here.map(outcome));
      for (const { worker, segments, stop } of there) {
        assert.equal(worker, new URL(url).host);
        assert.ok(segments.some(({ kind, logprobs }) => kind === "policy" && (logprobs?.length ?? 0) > 0));
        stops.add(stop);
      }
    }
  }
  // Answers, turns that were cut short, and turns without an action.
  assert.ok(stops.has("answer") && stops.has("length"), [...stops].join());
});
