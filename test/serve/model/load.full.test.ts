/** Many clients at one model, in less memory than they need, some gone and some that take nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { servedWorld, until } from "./served.ts";
import { ask, asked, idsOf, isIdle, ownIds } from "./streams.ts";

test("more streams than the cache has room for wait for each other, and none is lost", async (t) => {
  const served = await servedWorld(t, { engine: { cacheBytes: 2 ** 22, blockTokens: 16 } });
  const all = Array.from({ length: 48 }, (_, i) => asked(i));
  const streamed = await Promise.all(all.map(async (body) => idsOf(await ask(served.url, body))));
  for (const [i, body] of all.entries()) assert.deepEqual(streamed[i], await ownIds(served, body), `${i}`);
  await until(() => isIdle(served));
});

test("clients that leave at any moment leave nothing behind, and the others hear everything", async (t) => {
  const served = await servedWorld(t);
  const leaves = async (i: number): Promise<void> => {
    const leave = new AbortController();
    const answer = ask(served.url, { ...asked(i), max_tokens: 900, n: 1 + (i % 3) }, leave.signal);
    if (i % 8 === 0) leave.abort();
    const reader = await answer.then(({ body }) => body?.getReader()).catch(() => undefined);
    for (let numParts = 0; reader !== undefined && numParts < i % 8; numParts++) await reader.read();
    leave.abort();
  };
  const stays = async (i: number): Promise<void> => {
    assert.deepEqual(await idsOf(await ask(served.url, asked(i))), await ownIds(served, asked(i)));
  };
  await Promise.all(Array.from({ length: 64 }, (_, i) => (i % 4 === 3 ? stays(i) : leaves(i))));
  await until(() => isIdle(served));
});

test("a client that takes nothing holds up nobody, and what it did not take waits for it", async (t) => {
  const served = await servedWorld(t);
  // More than sockets hold: 20 likely tokens beside each of thousands.
  const long = { ...asked(1), max_tokens: 900, n: 4, logprobs: true, top_logprobs: 20 };
  const slow = await ask(served.url, long);
  for (let i = 0; i < 24; i++) assert.ok((await idsOf(await ask(served.url, asked(i)))).length > 0);
  assert.deepEqual(await idsOf(slow), await ownIds(served, { ...asked(1), max_tokens: 900 }));
  await until(() => isIdle(served));
});
