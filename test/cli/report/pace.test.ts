/** Rates and remaining times. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { durationText, Pace } from "../../../apps/cli/report/pace.ts";

test("the pace is that of the last twenty seconds", () => {
  let now = 0;
  const pace = new Pace(() => now);
  assert.equal(pace.at(0, 1000), undefined);
  let done = 0;
  const step = (more: number): ReturnType<Pace["at"]> => {
    now += 1000;
    done += more;
    return pace.at(done, 1000);
  };
  for (let i = 0; i < 50; i += 1) step(1);
  for (let i = 0; i < 29; i += 1) step(10);
  const last = step(10);
  assert.equal(Math.round(last?.perSecond ?? 0), 10);
  assert.equal(Math.round(last?.secondsLeft ?? 0), Math.round((1000 - done) / 10));
});

test("durations are told in the unit that fits", () => {
  assert.deepEqual([0.2, 89, 91, 5399, 5401, 90_000].map(durationText), [
    "1 s",
    "89 s",
    "2 min",
    "1 h 30 min",
    "1 h 31 min",
    "25 h 0 min",
  ]);
});
