/** Reinforcement learning of the built-in world's model while its retriever fails in every way. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createWorld } from "../../../apps/world/world.ts";
import { remoteSearch } from "../../../connectors/remote/remote-search.ts";
import { withBatching } from "../../../lib/search/batching/batching.ts";
import { train } from "./failing-retriever.ts";
import { startFaultServer } from "./fault-server.ts";

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
