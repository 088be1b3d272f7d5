/** When a candidate is promoted or rolled back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Canary } from "../../../apps/serve/learn/canary.ts";
import { dice as diceOf } from "../../dice.ts";

const options = { window: 100, least: 20, errors: 2 };

test("a verdict waits for rewards of both versions, and for a distance beyond chance", () => {
  const canary = new Canary(options);
  for (let i = 0; i < 50; i++) assert.equal(canary.add("stable", i % 2), "open");
  for (let i = 0; i < 19; i++) assert.equal(canary.add("candidate", 1), "open");
  assert.equal(canary.add("candidate", 1), "better");
  assert.deepEqual(canary.means, { stable: 0.5, candidate: 1 });
  canary.clear();
  assert.deepEqual(canary.means, {});
  for (let i = 0; i < 20; i++) canary.add("stable", i % 2);
  const verdicts = Array.from({ length: 20 }, () => canary.add("candidate", 0));
  assert.deepEqual(new Set(verdicts.slice(0, 19)), new Set(["open"]));
  assert.equal(verdicts[19], "worse");
});

test("only the newest rewards count", () => {
  const canary = new Canary({ ...options, window: 20 });
  for (let i = 0; i < 20; i++) canary.add("stable", i % 2);
  for (let i = 0; i < 20; i++) canary.add("candidate", (i + 1) % 2);
  const verdicts = Array.from({ length: 20 }, () => canary.add("candidate", 0));
  assert.equal(verdicts.at(-1), "worse");
  assert.equal(canary.means.candidate, 0);
});

test("of two equal versions, few verdicts of a window are wrong", () => {
  let numWrong = 0;
  for (let seed = 0; seed < 200; seed++) {
    const [canary, dice] = [new Canary({ window: 50, least: 50, errors: 2 }), diceOf(seed)];
    for (let i = 0; i < 50; i++) canary.add("stable", dice(2));
    let last = "open";
    for (let i = 0; i < 50; i++) last = canary.add("candidate", dice(2));
    if (last !== "open") numWrong += 1;
  }
  // Two standard errors are 4.6 % of cases; 200 of them rarely give 22 (five standard deviations).
  assert.ok(numWrong <= 22, `${numWrong} of 200`);
});
