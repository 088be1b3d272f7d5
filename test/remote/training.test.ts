/** Reinforcement learning of the built-in world's model while its retriever fails in every way. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { worldRecipe } from "../../apps/world/recipes/world.ts";
import { createWorld, type World } from "../../apps/world/world.ts";
import { packageRoot } from "../../lib/base/package-root.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { buildIndex } from "../../lib/index-folder/build/build.ts";
import { openIndex } from "../../lib/index-folder/open.ts";
import { Model } from "../../lib/model/model.ts";
import { remoteSearch } from "../../lib/remote/remote-search.ts";
import { type AgentParts, searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { withBatching } from "../../lib/search/batching/batching.ts";
import type { Search } from "../../lib/search/search.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { schedule } from "../../lib/train/algorithm/schedule.ts";
import { policySequence } from "../../lib/train/batch/sequence.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { rl } from "../../lib/train/rl.ts";
import type { RlMetrics } from "../../lib/train/rl-options.ts";
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
const recipe = worldRecipe({ queries: "multi" });

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

interface Outcome {
  readonly steps: RlMetrics[];
  readonly trajectories: Trajectory[];
}

interface Course {
  readonly steps: number;
  readonly search: Search;
  /** @default 20 s, longer than any search here */
  readonly searchTimeoutMs?: number;
  readonly onStep?: (step: number) => Promise<void>;
}

/** Steps on 8 questions, 4 rollouts each. */
async function train(world: World, folder: string, course: Course): Promise<Outcome> {
  const { steps, search, searchTimeoutMs = 20_000, onStep } = course;
  const start = join(packageRoot, "world", "checkpoint");
  const tokenizer = await Tokenizer.load(start);
  await using model = await Model.load(start);
  await using engine = await Engine.open(model, { tokenizer });
  await using trainer = await Trainer.open(model);
  const limits = { ...recipe.limits, searchTimeoutMs };
  const parts: AgentParts = { engine, tokenizer, search, ...recipe, limits };
  const outcome: Outcome = { steps: [], trajectories: [] };
  await rl({
    learners: { trainer },
    task: {
      questions: world.questions.train,
      reward: recipe.reward,
      rollout: (question, how) => searchAgent(parts).rollouts(question, how),
    },
    algorithm: algorithms.rloo,
    batch: { questions: 8, samples: 4 },
    steps,
    learningRate: { policy: schedule({ peak: 1e-4 }) },
    run: { folder, checkpointEvery: 0 },
    onStep: async (metrics, trajectories) => {
      outcome.steps.push(metrics);
      outcome.trajectories.push(...trajectories);
      await onStep?.(metrics.step);
    },
  });
  return outcome;
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

test("a server that never answers costs each search its deadline and no more", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  const world = createWorld({ seed: 5, numTrain: 40, numValidation: 1, numTest: 1 });
  await using server = await startFaultServer(() => null);
  server.otherwise = "hang";
  const search = withBatching(remoteSearch({ url: server.url }));
  const course = { steps: 1, search, searchTimeoutMs: 250 };
  const { steps, trajectories } = await train(world, join(folder, "run"), course);
  const rounds = trajectories.flatMap(({ queries }) => queries).length;
  assert.ok(rounds > 0);
  assert.equal(steps[0]?.["search/failures"], rounds);
  for (const { timings, queries } of trajectories) assert.ok(timings.searchMs <= queries.length * 1_500);
  await rm(folder, { recursive: true });
});
