/** Many clients at one model, some of them slow, gone or wrong: nothing is lost, and nothing stays behind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LanguageModel } from "../../../lib/serve/model/language-model.ts";
import { servedWorld, until } from "./served.ts";

type Served = Awaited<ReturnType<typeof servedWorld>>;

/** What the `i`-th client asks. */
function asked(i: number) {
  return {
    model: "world",
    messages: [{ role: "user" as const, content: `Who directed the film of Nightwinter number ${i}?` }],
    seed: i,
    temperature: 1.5,
    max_tokens: 24 + (i % 5) * 8,
    return_token_ids: true,
  };
}

type Asked = ReturnType<typeof asked>;

/** What the engine samples for it with no server around. */
async function ownIds({ engine, tokenizer, policy }: Served, { messages, seed, ...body }: Asked) {
  const prompt = policy.chatTemplate?.render(messages, { addGenerationPrompt: true, now: new Date() }) ?? "";
  using sequence = engine.open(tokenizer.encode(prompt, { beginsText: true }), { seed });
  const { ids } = await sequence.generate({ maxTokens: body.max_tokens, temperature: body.temperature });
  return [...ids];
}

function ask(url: string, body: object | string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify({ ...body, stream: true }),
    ...(signal ? { signal } : {}),
  });
}

/** The chunks of a stream that ended as it should. */
async function chunksOf(response: Response) {
  assert.equal(response.status, 200);
  const events = (await response.text()).trimEnd().split("\n\n");
  assert.equal(events.pop(), "data: [DONE]");
  return events.map((event) => {
    const { choices } = JSON.parse(event.slice("data: ".length)) as {
      choices: { index: number; token_ids: number[]; finish_reason: string | null }[];
    };
    return choices[0]!;
  });
}

/** Of one choice. */
async function idsOf(response: Response, index = 0): Promise<number[]> {
  const chunks = (await chunksOf(response)).filter((chunk) => chunk.index === index);
  assert.equal(chunks.filter(({ finish_reason }) => finish_reason !== null).length, 1);
  return chunks.flatMap(({ token_ids }) => token_ids);
}

/** Whether nothing runs, waits or holds memory. */
async function isIdle({ engine, models }: Served): Promise<boolean> {
  const { numSequences, numUsedBlocks } = await engine.stats();
  const { admission } = models[0] as LanguageModel;
  return [numSequences, numUsedBlocks, admission.numReserved, admission.numRunning].every((num) => num === 0);
}

test("a hundred streams at once arrive whole, and say what the engine says alone", async (t) => {
  const served = await servedWorld(t);
  const all = Array.from({ length: 100 }, (_, i) => asked(i));
  const streamed = await Promise.all(all.map(async (body) => idsOf(await ask(served.url, body))));
  for (const [i, body] of all.entries()) assert.deepEqual(streamed[i], await ownIds(served, body), `${i}`);
  await until(() => isIdle(served));
});

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
