/** Trainings of several processes beside those of one: the same losses, the same weights (law 3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertClose, type Line, runTraining as run } from "./runs.ts";

for (const what of ["sft", "adapter", "grpo", "ppo"]) {
  test(`${what}: two and four ranks have the losses and weights of one process`, async () => {
    const [alone] = await run(1, what);
    assert.ok(alone!.length > 4);
    for (const size of [2, 4]) {
      const ranks = await run(size, what);
      for (const lines of ranks) assertClose(lines, alone!);
      // What ranks hold is not nearly but wholly the same.
      const weights = (lines: readonly Line[]) => lines.filter(({ name }) => name !== undefined);
      for (const lines of ranks) assert.deepEqual(weights(lines), weights(ranks[0]!));
    }
  });
}
