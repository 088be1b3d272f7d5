/** Long answers are written in turns. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { encode, listOf } from "../../apps/serve/http/slices.ts";

const live = new AbortController().signal;
const items = Array.from({ length: 2000 }, (_, i) => ({ i, text: "über ".repeat(500) }));

test("pieces and lists become the JSON that they are", async () => {
  for (const count of [0, 1, 2, 100]) {
    const list = items.slice(0, count);
    const blocks = await encode(
      ['{"a":', listOf(list, (item) => item), ',"b":', listOf(list, (_, i) => i), "}"],
      live,
    );
    const expected = JSON.stringify({ a: list, b: list.map((_, i) => i) });
    assert.equal(Buffer.concat(blocks).toString(), expected);
  }
});

test("others have their turn while a long answer is written", async () => {
  let [numTurns, isDone] = [0, false];
  const others = (): void => {
    numTurns += 1;
    if (!isDone) setImmediate(others);
  };
  setImmediate(others);
  // Each item takes a fifth of a millisecond.
  const slow = listOf(items.slice(0, 200), (item) => {
    const end = performance.now() + 0.2;
    while (performance.now() < end);
    return item;
  });
  await encode([slow], live);
  isDone = true;
  assert.ok(numTurns >= 4, `${numTurns} turns`);
});

test("an answer that nobody waits for any more is not written to its end", async () => {
  const stop = new AbortController();
  let numWritten = 0;
  const list = listOf(items, (item) => {
    numWritten += 1;
    if (numWritten === 100) stop.abort(new Error("gone"));
    return item;
  });
  await assert.rejects(encode([list], stop.signal), { message: "gone" });
  assert.ok(numWritten < 200);
});
