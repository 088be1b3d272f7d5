/** Deadlines for synchronous work. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { withinTime } from "../../lib/text/within-time.ts";

test("work that never ends is stopped", () => {
  assert.equal(
    withinTime(30, () => {
      for (;;);
    }),
    undefined,
  );
});

test("time that passes while the process does not run does not count", () => {
  const sleep = new Int32Array(new SharedArrayBuffer(4));
  let numRuns = 0;
  const task = (): number => {
    numRuns += 1;
    if (numRuns === 1) Atomics.wait(sleep, 0, 0, 400);
    return numRuns;
  };
  assert.equal(withinTime(200, task), 2);
});
