/** Workers that fail: their rollouts are made elsewhere, and they come back. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { WorkerOptions, WorkerPoolOptions } from "../../../connectors/workers/worker-options.ts";
import { WorkerPool } from "../../../connectors/workers/worker-pool.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { until } from "../../serve/model/served.ts";
import { fakeVllm } from "./fake-servers.ts";
import { localWorld, outcome, questions, workerWorld } from "./served-worker.ts";

type World = Awaited<ReturnType<typeof localWorld>>;

const transport = { retries: 0 };

async function poolOf(world: World, workers: WorkerOptions[], more: Partial<WorkerPoolOptions> = {}) {
  const { engine, tokenizer, policy } = world;
  const warnings: string[] = [];
  const pool = await WorkerPool.open({
    ...{ engine, tokenizer, policy, localConcurrency: 0 },
    workers: workers.map((each) => ({ transport, ...each })),
    agent: (each) => world.agent(each),
    onWarning: (message) => warnings.push(message),
    ...more,
  });
  return { pool, warnings };
}

/** A step of the optimiser on nothing: the weights have another version, and the same numbers. */
async function stepOnNothing({ policy }: World): Promise<void> {
  await using trainer = await Trainer.open(policy);
  await trainer.step({ learningRate: 0 });
}

const broken = { status: 500, said: { error: { message: "out of memory" } } };

async function fakeWorld(t: TestContext) {
  const world = await localWorld(t, { lora: { rank: 4 } });
  return { world, server: await fakeVllm(t, await localWorld(t)) };
}

test("rollouts of a worker that fails within a step are those of the place that makes them anew, and are counted", async (t) => {
  const { world, server } = await fakeWorld(t);
  const { pool, warnings } = await poolOf(world, [{ url: server.url, concurrency: 100 }], {
    localConcurrency: 2,
  });
  await using _ = pool;
  let turns = 0;
  server.broken = ({ path }) => (path === "/v1/completions" && ++turns > 3 ? broken : undefined);
  const how = { seed: 2, samples: 2 };
  const made = await Promise.all(questions.map((question) => pool.rollouts(question, how)));
  const local = world.agent(world.engine);
  const [here, moved] = [made.flat().filter(({ worker }) => worker === "local"), made.flat()];
  assert.ok(moved.some(({ moves }) => moves === 1));
  for (const [i, question] of questions.entries()) {
    const own = made[i]!;
    if (own.some(({ worker }) => worker !== "local")) continue;
    assert.deepEqual(own.map(outcome), (await local.rollouts(question, how)).map(outcome));
  }
  assert.ok(here.length > 0);
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0]!,
    /^worker 127\.0\.0\.1:\d+ leaves the pool: worker .*expected status 200, got 500.*out of memory/,
  );
});

test("a worker that failed is given the next weights and rolls out again", async (t) => {
  const { world, server } = await fakeWorld(t);
  const { pool, warnings } = await poolOf(world, [{ url: server.url }], { localConcurrency: 1 });
  await using _ = pool;
  server.broken = () => broken;
  const [moved] = await pool.rollouts(questions[0]!);
  const [still] = await pool.rollouts(questions[1]!);
  assert.deepEqual([moved?.worker, still?.worker], ["local", "local"]);
  await stepOnNothing(world);
  // It cannot take them yet: it stays out, and no rollout waits for it.
  assert.equal((await pool.rollouts(questions[0]!))[0]?.worker, "local");
  server.broken = undefined;
  await stepOnNothing(world);
  const [back] = await pool.rollouts(questions[0]!);
  assert.deepEqual([back?.worker, back?.weightsVersion], [server.name, world.policy.weightsVersion]);
  assert.deepEqual(
    warnings.map((each) => each.replace(/.*(leaves|is back).*/, "$1")),
    ["leaves", "is back"],
  );
});

test("without any place left a rollout fails with the reason of each", async (t) => {
  const { world, server } = await fakeWorld(t);
  const { pool } = await poolOf(world, [{ url: server.url }]);
  await using _ = pool;
  server.broken = () => broken;
  await assert.rejects(pool.rollouts(questions[0]!), {
    code: "ERR_REMOTE",
    message: /^workers: expected one that answers, got none; 127\.0\.0\.1:\d+: .*out of memory/,
  });
});

test("an abort ends the rollouts of a worker, and those that wait for room", async (t) => {
  const { world, server } = await fakeWorld(t);
  const { pool } = await poolOf(world, [{ url: server.url, concurrency: 1 }]);
  await using _ = pool;
  const stop = new AbortController();
  let release = (): void => {};
  server.hold = new Promise((resolve) => {
    release = resolve;
  });
  const asked = [0, 1].map((i) => pool.rollouts(questions[i]!, { signal: stop.signal }));
  const waits = server.asked.length + 1;
  await until(() => server.asked.length >= waits);
  stop.abort();
  const [under, waiting] = await Promise.allSettled(asked);
  release();
  assert.equal(under?.status === "fulfilled" && under.value[0]?.stop, "aborted");
  assert.equal(waiting?.status === "rejected" && waiting.reason.code, "ERR_ABORTED");
});

test("one that takes no weights rolls out with its own for as long as was declared", async (t) => {
  const { world, server } = await fakeWorld(t);
  const { pool, warnings } = await poolOf(world, [{ url: server.url, staleness: 1 }], {
    localConcurrency: 1,
  });
  await using _ = pool;
  const version = world.policy.weightsVersion;
  const places: unknown[] = [];
  for (let step = 0; step < 3; step += 1) {
    // Two at once: the first takes the worker or, where that is out, the engine.
    const made = await Promise.all([0, 1].map((i) => pool.rollouts(questions[i]!)));
    const there = made.flat().find(({ worker }) => worker === server.name);
    places.push(there && [there.worker, there.weightsVersion]);
    await stepOnNothing(world);
  }
  assert.deepEqual(places, [[server.name, version], [server.name, version], undefined]);
  assert.match(warnings.join(), /leaves the pool: its weights are 2 steps old, of at most 1/);
  assert.ok(server.asked.every(({ path }) => path !== "/v1/load_lora_adapter"));
});

test("weights that somebody else pushes to our own server do not pass for the trainer's", async (t) => {
  const world = await localWorld(t, { lora: { rank: 4 } });
  const worker = await workerWorld(t);
  const { pool, warnings } = await poolOf(world, [{ url: worker.url }], { localConcurrency: 1 });
  await using _ = pool;
  const other = await WorkerPool.open({
    ...{ workers: [{ url: worker.url }], engine: world.engine, tokenizer: world.tokenizer },
    ...{ agent: (each) => world.agent(each), policy: await otherPolicy(t) },
  });
  await other.close();
  const made = await Promise.all(questions.slice(0, 4).map((question) => pool.rollouts(question)));
  assert.ok(made.flat().every((each) => each.worker === "local"));
  assert.match(warnings.join(), /weights_version: expected \d+, which was pushed, got \d+: .*somebody else/);
});

async function otherPolicy(t: TestContext) {
  const other = await localWorld(t, { lora: { rank: 4 } });
  for (let i = 0; i < 5; i += 1) await stepOnNothing(other);
  return other.policy;
}
