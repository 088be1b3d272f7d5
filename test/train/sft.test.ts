import assert from "node:assert/strict";
import { appendFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { schedule } from "../../lib/train/algorithm/schedule.ts";
import { normaliseWeights, sftSequence } from "../../lib/train/batch/sequence.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { epochs, sft } from "../../lib/train/sft.ts";
import { runAndKill, steadyMetrics, withFolder } from "./run/kill.ts";
import { runSft, sftRunSteps } from "./run/sft-run.ts";
import { filled, tinyModel, tinySequence } from "./tiny.ts";

const lastCheckpoint = (folder: string) => join(folder, "checkpoints", `step-0000${sftRunSteps}`);

test("a training killed with SIGKILL and resumed ends with the same bytes as one that was not", async () => {
  await withFolder(async (folder) => {
    const [whole, killed] = [join(folder, "whole"), join(folder, "killed")];
    await runSft(whole, () => {});
    // A step is told before its checkpoint: the kill at 12 falls into the writing of one.
    for (const step of ["12", "15"]) await runAndKill("sft-run.js", killed, step);
    assert.ok(!(await readdir(join(killed, "checkpoints"))).includes(`step-0000${sftRunSteps}`));
    await appendFile(join(killed, "metrics.jsonl"), '{"step": 16, "lo');
    const steps: number[] = [];
    await runSft(killed, ({ step }) => steps.push(step));
    assert.equal(steps.at(-1), sftRunSteps);
    assert.ok(steps[0]! > 1, "it went on from a checkpoint");
    for (const file of ["model.safetensors", "trainer.safetensors"]) {
      const [a, b] = await Promise.all(
        [whole, killed].map((run) => readFile(join(lastCheckpoint(run), file))),
      );
      assert.ok(a?.equals(b!), `${file} differs`);
    }
    assert.deepEqual(await steadyMetrics(killed), await steadyMetrics(whole));
  });
});

test("a finished run is not run again", async () => {
  await withFolder(async (folder) => {
    await using model = await tinyModel();
    await using trainer = await Trainer.open(model);
    const sequence = tinySequence(1, 12);
    const weighted = { ...sequence, weights: filled(sequence.rows.length, () => 1) };
    const options = {
      trainer,
      ...epochs([weighted], { batchSize: 1, epochs: 2 }),
      learningRate: schedule({ peak: 1e-3 }),
      run: { folder },
    };
    assert.equal((await sft(options))?.step, 2);
    assert.equal(await sft(options), undefined);
    const message =
      /step-000002 was begun with other options:\n {2}seed: expected 0, got 9\nRemedy: give the same again/;
    await assert.rejects(sft({ ...options, seed: 9 }), { code: "ERR_STATE", message });
  });
});

test("the signal ends a training between steps", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const controller = new AbortController();
  const sequence = tinySequence(1, 12);
  const weighted = { ...sequence, weights: filled(sequence.rows.length, () => 1) };
  const training = sft({
    trainer,
    ...epochs([weighted], { batchSize: 1, epochs: 100 }),
    learningRate: schedule({ peak: 1e-3 }),
    signal: controller.signal,
    onStep: ({ step }) => {
      if (step === 3) controller.abort();
    },
  });
  await assert.rejects(training, { code: "ERR_ABORTED" });
  assert.equal(trainer.numSteps, 3);
});

test("policy tokens weigh 1, others what was asked, and the first token of all is no row", () => {
  const segments = [
    { kind: "prompt", tokens: Int32Array.of(5, 6) },
    { kind: "policy", tokens: Int32Array.of(7, 8) },
    { kind: "observation", tokens: Int32Array.of(9) },
    { kind: "policy", tokens: Int32Array.of(10) },
  ] as const;
  const only = sftSequence(segments);
  assert.deepEqual([...only.rows], [1, 2, 4]);
  const all = sftSequence(segments, { otherWeight: 0.5 });
  assert.deepEqual([...all.rows], [0, 1, 2, 3, 4]);
  assert.deepEqual([...all.weights!], [0.5, 1, 1, 0.5, 1]);
  const [normal] = normaliseWeights([all]);
  assert.ok(Math.abs(normal!.weights!.reduce((a, b) => a + b) - 1) < 1e-6);
});

test("each epoch sees every sequence once, in an order of its own", () => {
  const sequences = Array.from({ length: 7 }, (_, i) => tinySequence(i, 10 + i));
  const { batch, steps } = epochs(sequences, { batchSize: 7, epochs: 2, seed: 5 });
  assert.equal(steps, 2);
  const orders = [0, 1].map((step) => (batch(step) as typeof sequences).map(({ tokens }) => tokens.length));
  for (const order of orders) assert.deepEqual([...order].sort(), [10, 11, 12, 13, 14, 15, 16]);
  assert.notDeepEqual(orders[0], orders[1]);
});
