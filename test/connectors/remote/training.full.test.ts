/** Reinforcement learning while the retriever restarts, hangs and errs. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createWorld, type World } from "../../../apps/world/world.ts";
import { remoteSearch } from "../../../connectors/remote/remote-search.ts";
import { withBatching } from "../../../lib/search/batching/batching.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import type { Search } from "../../../lib/search/search.ts";
import { policySequence } from "../../../lib/train/batch/sequence.ts";
import type { RlMetrics } from "../../../lib/train/rl-options.ts";
import { type Course, recipe, train } from "./failing-retriever.ts";
import { type Asked, type Behaviour, type FaultServer, startFaultServer } from "./fault-server.ts";

const faults: Behaviour[] = [
  "close",
  "hang",
  { status: 500 },
  "half",
  "garbage",
  "drip",
  "shape",
  { status: 503 },
];

/** Retries would hide faults, and the breaker would keep most requests from being sent. */
const transport = { timeoutMs: 300, deadlineMs: 400, retries: 0, maxConcurrent: 64, breakAfter: 1000 };

/** Every second request meets the next fault. */
function faultyScript(count: number): Behaviour[] {
  return Array.from({ length: count }, (_, i) =>
    i % 2 === 0 ? "answer" : faults[(i >> 1) % faults.length]!,
  );
}

async function startWorldServer(world: World, folder: string): Promise<FaultServer> {
  await buildIndex({ corpus: world.passages, out: folder });
  const index = await openIndex(folder);
  return startFaultServer(async ({ body }: Asked) => {
    const { queries, topk } = body as { queries: string[]; topk: number };
    const found = await index(queries, { topK: topk });
    const documents = found.map((hits) =>
      hits.map(({ id, title, text, score }) => ({
        document: { id, contents: `"${title}"\n${text}` },
        score,
      })),
    );
    return { result: documents };
  });
}

/** When the third step begins the server is away, and it comes back after four searches. */
function faultyCourse(server: FaultServer): Course {
  // A request for each search, so that each fault meets one.
  const remote = remoteSearch({ url: server.url, transport });
  let numWhileAway = Number.NaN;
  return {
    steps: 3,
    search: (queries, options) => {
      numWhileAway += 1;
      if (numWhileAway === 4) setTimeout(() => void server.start(), 50);
      return remote(queries, options);
    },
    onStep: async (step) => {
      if (step !== 2) return;
      await server.stop();
      numWhileAway = 0;
    },
  };
}

test("a retriever that restarts, hangs and errs costs masked, counted failure observations and nothing else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  const world = createWorld({ seed: 3, numTrain: 40, numValidation: 1, numTest: 1 });
  await using server = await startWorldServer(world, join(folder, "index"));
  server.script.push(...faultyScript(400));
  const { steps, trajectories } = await train(world, join(folder, "run"), faultyCourse(server));

  assert.equal(steps.length, 3, "training went on to its end");
  assert.equal(trajectories.length, 3 * 8 * 4);
  for (const step of steps) assert.ok(Number.isFinite(step["policy/loss"] ?? step.loss ?? 0));

  const counted = steps.map((step) => step["search/failures"]!);
  assert.ok(
    counted.every((count) => count > 0),
    `failures of each step: ${counted}`,
  );
  const observed = trajectories.flatMap(({ segments }) =>
    segments.filter(({ kind, text }) => kind === "observation" && text.startsWith(recipe.format.failure)),
  );
  assert.equal(
    observed.length,
    counted.reduce((sum, count) => sum + count, 0),
  );
  const rounds = trajectories.reduce((sum, { queries }) => sum + queries.length, 0);
  assert.ok(observed.length < rounds, "other searches of the same steps were answered");

  for (const trajectory of trajectories) {
    const { segments, timings, failures, failureReasons = [] } = trajectory;
    assert.equal(failures, failureReasons.length);
    const numPolicy = segments
      .filter(({ kind }) => kind === "policy")
      .flatMap(({ tokens }) => [...tokens]).length;
    assert.equal(policySequence(trajectory).rows.length, numPolicy, "only the policy's tokens are trained");
    const bound = trajectory.queries.length * (transport.deadlineMs + 2_000);
    assert.ok(timings.searchMs <= bound, `${timings.searchMs} ms in ${trajectory.queries.length} searches`);
  }
  const reasons = trajectories.flatMap(({ failureReasons = [] }) => failureReasons).join("\n");
  for (const reason of [
    /got 500/,
    /got 503/,
    /expected JSON/,
    /no (whole )?answer within/,
    /expected string/,
  ]) {
    assert.match(reasons, reason);
  }
  const log = (await readFile(join(folder, "run", "metrics.jsonl"), "utf8")).trim().split("\n");
  assert.deepEqual(
    log.map((line) => (JSON.parse(line) as RlMetrics)["search/failures"]),
    counted,
  );
  const rows = (await readFile(join(folder, "run", "trajectories.jsonl"), "utf8")).trim().split("\n");
  const logged = rows.flatMap((line) => (JSON.parse(line) as { failures: string[] }).failures);
  assert.equal(logged.length, observed.length);
  await rm(folder, { recursive: true });
});

test("a restart within the deadline of a search costs nothing at all", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  const world = createWorld({ seed: 4, numTrain: 40, numValidation: 1, numTest: 1 });
  await using server = await startWorldServer(world, join(folder, "index"));
  const patient = { retries: 10, breakAfter: 3, coolMs: 200 };
  const remote = withBatching(remoteSearch({ url: server.url, transport: patient }));
  let isUp = false;
  await server.stop();
  const search: Search = (queries, options) => {
    // Down for long enough that the breaker opens and closes again.
    if (!isUp) setTimeout(() => void server.start(), 700);
    isUp = true;
    return remote(queries, options);
  };
  const { steps, trajectories } = await train(world, join(folder, "run"), { steps: 1, search });
  assert.equal(steps[0]?.["search/failures"], 0);
  assert.ok(trajectories.some(({ timings }) => timings.searchMs > 500));
  await rm(folder, { recursive: true });
});
