/** What a closed model held is free again. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "../../lib/model/model.ts";
import { projectRoot } from "../project.ts";

test("a hundred rounds of load, generate, train and close take no more memory than twenty", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-reload-"));
  // 5 MB of weights: 80 rounds that kept only one in ten of them would take 40 MB.
  const sizes = { vocabSize: 97, hiddenSize: 128, intermediateSize: 256, numLayers: 8, numHeads: 2 };
  const model = await Model.create({ ...sizes, headDim: 64, maxPosition: 256 }, { std: 0.1 });
  await model.save(folder);
  model.close();
  const program = join(projectRoot, "dist", "test", "engine", "reload.js");
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", program, folder, "100"], {
    encoding: "utf8",
  });
  await rm(folder, { recursive: true });
  assert.equal(status, 0, stderr);
  const bytes = JSON.parse(stdout) as number[];
  // The least of some rounds each, as the collector and the allocator come and go.
  const early = Math.min(...bytes.slice(16, 24));
  const late = Math.min(...bytes.slice(92));
  assert.ok(late - early < 8e6, `${early / 1e6} MB after 20 rounds, ${late / 1e6} MB after 100`);
});
