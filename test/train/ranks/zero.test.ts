/** What ranks share out (ZeRO): the bits of one process where they are asked for, and what is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { runRanks } from "../../comm/ranks.ts";
import { withFolder } from "../run/kill.ts";
import { tinyModel } from "../tiny.ts";
import { runTraining, steady } from "./runs.ts";

test("two ranks that share all out have the bits of one process, which goes on from their checkpoint", () =>
  withFolder(async (folder) => {
    const run = (size: number, into: string, options: object) =>
      runTraining(size, "sft", into, JSON.stringify({ gradientShards: 2, ...options }));
    const [alone] = await run(1, "", { steps: 6 });
    const [shared] = await run(2, folder, { zero: 3, steps: 3 });
    const [after] = await run(1, folder, { steps: 6 });
    const steps = shared!.filter(({ name }) => name === undefined);
    assert.deepEqual([...steady(steps), ...steady(after!)], steady(alone!));
  }));

test("rollouts ahead of their step are refused where ranks part the weights that they would go on with", async () => {
  const options = JSON.stringify({ staleness: 1, zero: 3 });
  const ranks = await runRanks("./training-rank.js", import.meta.url, {
    size: 2,
    args: ["grpo", "", options],
  });
  const expected =
    "batch.staleness: expected 0 with zero 3, which parts the weights that rollouts ahead would go on with";
  for (const { code, lines } of ranks) {
    const [line, ...rest] = lines as { code: string; message: string }[];
    assert.deepEqual([code, line!.code, rest.length], [1, "ERR_ARGUMENT", 0]);
    assert.ok(line!.message.startsWith(expected), line!.message);
  }
});

test("gradient shards that ranks cannot share are refused, and levels that are none", async () => {
  await using model = await tinyModel();
  await assert.rejects(Trainer.open(model, { gradientShards: 3 }), {
    code: "ERR_ARGUMENT",
    message: "gradientShards: expected a power of two that is a multiple of the 1 ranks, got 3",
  });
  await assert.rejects(Trainer.open(model, { zero: 4 as 3 }), { code: "ERR_RANGE" });
  await assert.rejects(Trainer.open(model, { gradientShards: 2, reduceDtype: "bfloat16" }), {
    code: "ERR_ARGUMENT",
    message: "reduceDtype: expected float32 with gradientShards, got bfloat16",
  });
});
