/** Rollouts ahead of their step on several ranks: what ranks tell each other of them does not get mixed up with the training's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runTraining, steady, weightsOf } from "./runs.ts";

for (const staleness of [1, 2]) {
  test(`with staleness ${staleness} two ranks learn the same, of rollouts no older than that`, async () => {
    const steps = 6;
    const [first, second] = await runTraining(2, "grpo", "", JSON.stringify({ staleness, steps }));
    assert.deepEqual(weightsOf(first!), weightsOf(second!));
    assert.deepEqual(steady(first!), steady(second!));
    const oldest = first!.slice(0, steps).map((line) => line["staleness/max"] as number);
    assert.ok(Math.max(...oldest) <= staleness, JSON.stringify(oldest));
    assert.ok(Math.max(...oldest) > 0, "rollouts ran ahead");
  });
}
