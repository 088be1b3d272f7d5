/** The line that says how processes share a job. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { jobLayout } from "../../../apps/cli/report/job-layout.ts";

test("a job's layout is its processes, how many share a model, and what else is shared out", () => {
  assert.equal(jobLayout(4, { tensorParallel: 2, zero: 1 }), "4 processes: 2 x 2 (tensor x data), ZeRO 1");
  assert.equal(jobLayout(2, { zero: 3 }), "2 processes: 1 x 2 (tensor x data), ZeRO 3");
  // Who shares one model alone has nothing to share out besides.
  assert.equal(jobLayout(2, { tensorParallel: 2 }), "2 processes: 2 x 1 (tensor x data)");
  assert.equal(
    jobLayout(8, { zero: 1, rolloutRanks: 4 }),
    "8 processes: 4 train, 1 x 4 (tensor x data), ZeRO 1, 4 only generate",
  );
});
