/** Many clients at one model, some of them slow, gone or wrong: nothing is lost, and nothing stays behind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { servedWorld, until } from "./served.ts";
import { ask, asked, idsOf, isIdle, ownIds } from "./streams.ts";

test("a hundred streams at once arrive whole, and say what the engine says alone", async (t) => {
  const served = await servedWorld(t);
  const all = Array.from({ length: 100 }, (_, i) => asked(i));
  const streamed = await Promise.all(all.map(async (body) => idsOf(await ask(served.url, body))));
  for (const [i, body] of all.entries()) assert.deepEqual(streamed[i], await ownIds(served, body), `${i}`);
  await until(() => isIdle(served));
});

test("bodies that are wrong are refused one by one, and good ones beside them lose nothing", async (t) => {
  const served = await servedWorld(t);
  const wrong = [
    "",
    "[[[",
    '"text"',
    "{}",
    JSON.stringify({ ...asked(0), messages: [] }),
    JSON.stringify({ ...asked(0), temperature: "hot" }),
    JSON.stringify({ ...asked(0), of_nobody: 1 }),
    JSON.stringify({ ...asked(0), messages: [{ role: "user", content: "a ".repeat(5000) }] }),
  ];
  const all = Array.from({ length: 64 }, async (_, i) => {
    const body = wrong[i % 2 === 0 ? -1 : (i >> 1) % wrong.length];
    if (body === undefined) return idsOf(await ask(served.url, asked(i)));
    const { status } = await ask(served.url, body);
    assert.equal(status, 400, body);
    return undefined;
  });
  const answers = await Promise.all(all);
  for (const [i, ids] of answers.entries()) {
    if (ids !== undefined) assert.deepEqual(ids, await ownIds(served, asked(i)), `${i}`);
  }
  await until(() => isIdle(served));
});
