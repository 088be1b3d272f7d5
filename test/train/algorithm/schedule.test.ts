import assert from "node:assert/strict";
import { test } from "node:test";
import { countSchedule, schedule } from "../../../lib/train/algorithm/schedule.ts";

test("a constant rate follows a linear warm-up", () => {
  const rate = schedule({ peak: 2, warmupSteps: 4 });
  assert.deepEqual([0, 1, 3, 4, 1000].map(rate), [0.5, 1, 2, 2, 2]);
});

test("a cosine decay ends at its floor and stays there", () => {
  const rate = schedule({ peak: 1, warmupSteps: 10, decay: "cosine", steps: 110, floor: 0.1 });
  assert.equal(rate(10), 1);
  assert.ok(Math.abs(rate(60) - 0.55) < 1e-12);
  assert.ok(Math.abs(rate(110) - 0.1) < 1e-12);
  assert.ok(Math.abs(rate(500) - 0.1) < 1e-12);
});

test("a number of rollouts falls from eight to four as in Agentic-RAG-R1", () => {
  // int(8 - 4 * progress), progress = step / 300
  const samples = countSchedule({ from: 8, to: 4, steps: 300 });
  assert.deepEqual([0, 1, 75, 76, 150, 225, 299, 300].map(samples), [8, 7, 7, 6, 6, 5, 4, 4]);
});
