/** Workers that the ranks of a job share out: each takes the weights of one rank, and rolls out for it alone. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { WorkerPool } from "../../../connectors/workers/worker-pool.ts";
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { fakeVllm } from "./fake-servers.ts";
import { localWorld, questions } from "./served-worker.ts";

/** A rank of three; a pool asks no more of its group. */
const placeOf = (rank: number): ProcessGroup =>
  Object.assign(Object.create(ProcessGroup.prototype), { rank, size: 3 });

test("two workers of three ranks: each is given the weights by one rank, and the third rank has its engine", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  t.after(() => rm(folder, { recursive: true }));
  const world = await localWorld(t, { lora: { rank: 4 } });
  const there = await localWorld(t);
  const servers = [await fakeVllm(t, there), await fakeVllm(t, there)];
  const { engine, tokenizer, policy } = world;
  const workers = servers.map(({ url }) => ({ url, transport: { retries: 0 } }));
  const open = (rank: number, more: { readonly localConcurrency?: number } = {}) =>
    WorkerPool.open({
      ...{
        workers,
        engine,
        tokenizer,
        policy,
        folder,
        processGroup: placeOf(rank),
        localConcurrency: 1,
        ...more,
      },
      // Of two at once the second has no room here.
      agent: (each) => world.agent(each),
    });
  await using first = await open(0);
  await using second = await open(1);
  await using third = await open(2);
  const pools = [first, second, third];
  const rollout = async () => {
    const how = { seed: 3, samples: 1 };
    const made = await Promise.all(
      pools.map((pool) => Promise.all([0, 1].map((i) => pool.rollouts(questions[i]!, how)))),
    );
    return made.map((each) => each.flat());
  };
  const before = await rollout();
  await using trainer = await Trainer.open(policy);
  await trainer.step({ learningRate: 0 });
  const after = await rollout();
  const namesOf = (rank: number) =>
    new Set([before, after].flatMap((made) => made[rank]!).map(({ worker }) => worker));
  assert.ok(!namesOf(0).has(servers[1]!.name) && namesOf(0).has(servers[0]!.name));
  assert.ok(!namesOf(1).has(servers[0]!.name) && namesOf(1).has(servers[1]!.name));
  assert.deepEqual([...namesOf(2)], ["local"]);
  for (const { asked } of servers)
    assert.equal(asked.filter(({ path }) => path === "/v1/load_lora_adapter").length, 2);
  assert.deepEqual(
    (await readdir(folder)).sort(),
    [0, 1].map((rank) => `rank-${rank}-version-${policy.weightsVersion}`),
  );
  await assert.rejects(open(2, { localConcurrency: 0 }), {
    code: "ERR_ARGUMENT",
    message: "workers: expected a worker for each of 3 ranks where their engines make no rollouts, got 2",
  });
});
