/** Reinforcement learning that ends, is interrupted or killed, and goes on. */
import assert from "node:assert/strict";
import { appendFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { rl } from "../../../lib/train/rl.ts";
import type { RlMetrics } from "../../../lib/train/rl-options.ts";
import { threeRollouts } from "../fixed-rollouts.ts";
import { runAndKill, steadyMetrics, withFolder } from "./kill.ts";
import { rlRunSteps, runBandit } from "./rl-run.ts";

test("a run that has reached what it was for ends, and stays ended when it is resumed", async () => {
  await withFolder(async (folder) => {
    const options = await threeRollouts((_, i) => i);
    const seen: number[] = [];
    const run = {
      ...{ ...options, steps: 5, run: { folder, checkpointEvery: 0 } },
      endWhen: ({ step }: RlMetrics) => step === 2,
      onStep: ({ step }: RlMetrics) => void seen.push(step),
    };
    assert.equal((await rl(run))?.step, 2);
    assert.equal(await rl(run), undefined);
    assert.deepEqual(seen, [1, 2]);
  });
});

test("PPO killed with SIGKILL and resumed ends with the same bytes, critic and logs included", async () => {
  await withFolder(async (folder) => {
    const [whole, killed] = [join(folder, "whole"), join(folder, "killed")];
    await runBandit({ algorithm: algorithms.ppo, steps: rlRunSteps, folder: whole });
    await runAndKill("rl-run.js", killed, "5");
    await appendFile(join(killed, "trajectories.jsonl"), '{"step": 6, "id": "q');
    const steps: number[] = [];
    await runBandit({
      algorithm: algorithms.ppo,
      steps: rlRunSteps,
      folder: killed,
      onStep: ({ step }) => steps.push(step),
    });
    assert.ok(steps[0]! > 1, "it went on from a checkpoint");
    const files = ["model", "trainer", "critic/model", "critic/trainer"].map((name) => `${name}.safetensors`);
    for (const file of files) {
      const read = (run: string) => readFile(join(run, "checkpoints", "step-000010", file));
      assert.ok((await read(whole)).equals(await read(killed)), `${file} differs`);
    }
    assert.deepEqual(await steadyMetrics(killed), await steadyMetrics(whole));
    const logged = (run: string) => readFile(join(run, "trajectories.jsonl"), "utf8");
    assert.equal(await logged(killed), await logged(whole));
    assert.equal((await logged(whole)).trimEnd().split("\n").length, rlRunSteps * 32);
  });
});

test("PPO that is interrupted between checkpoints goes on from its last step, with the same bytes", async () => {
  await withFolder(async (folder) => {
    const [whole, stopped] = [join(folder, "whole"), join(folder, "stopped")];
    const run = { algorithm: algorithms.ppo, steps: 5 };
    await runBandit({ ...run, folder: whole });
    const controller = new AbortController();
    const interrupt = ({ step }: { readonly step: number }) => {
      if (step === 4) controller.abort();
    };
    const running = runBandit({ ...run, folder: stopped, onStep: interrupt, signal: controller.signal });
    await assert.rejects(running, { code: "ERR_ABORTED" });
    assert.deepEqual((await readdir(join(stopped, "checkpoints"))).sort(), ["step-000003", "step-000004"]);
    const steps: number[] = [];
    await runBandit({ ...run, folder: stopped, onStep: ({ step }) => steps.push(step) });
    assert.deepEqual(steps, [5]);
    for (const file of ["model.safetensors", "critic/trainer.safetensors"]) {
      const read = (name: string) => readFile(join(name, "checkpoints", "step-000005", file));
      assert.ok((await read(whole)).equals(await read(stopped)), `${file} differs`);
    }
    assert.deepEqual(await steadyMetrics(stopped), await steadyMetrics(whole));
  });
});
