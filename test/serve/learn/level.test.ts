/** Whether rewards of one and the same model have fallen. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Level, type Shift } from "../../../apps/serve/learn/level.ts";
import { dice as diceOf } from "../../dice.ts";

/** Rewards of 0 and 1, of which so many in ten are 1. */
function shiftsOf(level: Level, dice: (bound: number) => number, tenths: number, count: number): Shift[] {
  return Array.from({ length: count }, () => level.add(dice(10) < tenths ? 1 : 0));
}

test("opposite rewards are noticed within a window, and their end too", () => {
  for (let seed = 0; seed < 50; seed++) {
    const [level, dice] = [new Level(32), diceOf(seed)];
    assert.deepEqual(new Set(shiftsOf(level, dice, 8, 160)), new Set(["none"]));
    const opposite = shiftsOf(level, dice, 2, 80).filter((shift) => shift !== "none");
    assert.deepEqual(opposite, ["fallen"]);
    const after = shiftsOf(level, dice, 8, 300).filter((shift) => shift !== "none");
    assert.equal(after[0], "back");
  }
});

test("rewards that stay as they are seldom seem to fall", () => {
  let numWrong = 0;
  for (let seed = 0; seed < 100; seed++) {
    const shifts = shiftsOf(new Level(32), diceOf(seed), 5 + (seed % 5), 1000);
    if (shifts.includes("fallen")) numWrong += 1;
  }
  // Four standard errors, looked at a thousand times; a false alarm costs the candidate, and lasts until the mean is back.
  assert.ok(numWrong <= 10, `${numWrong} of 100`);
});

test("a promoted version begins with the rewards that it earned as a candidate", () => {
  const [level, dice] = [new Level(32), diceOf(1)];
  shiftsOf(level, dice, 3, 100);
  level.restart(Array.from({ length: 64 }, (_, i) => (i % 5 === 0 ? 0 : 1)));
  assert.equal(level.before, 51 / 64);
  assert.deepEqual(new Set(shiftsOf(level, dice, 8, 100)), new Set(["none"]));
  assert.ok(shiftsOf(level, dice, 2, 80).includes("fallen"));
});
