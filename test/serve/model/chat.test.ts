/** Chat completions of a real model, as OpenAI's client asks for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LanguageModel } from "../../../apps/serve/model/language-model.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { servedWorld, until } from "./served.ts";

const messages = [{ role: "user" as const, content: "who directed Nightwinter" }];
const asked = { model: "world", messages, max_tokens: 24 };

test("a reply is what the engine samples after the template's prompt, id for id", async (t) => {
  const { client, engine, tokenizer, policy } = await servedWorld(t);
  const reply = await client.chat.completions.create({
    ...asked,
    ...{ temperature: 1, seed: 7, logprobs: true, return_token_ids: true },
  });
  const prompt = policy.chatTemplate?.render(messages, { addGenerationPrompt: true }) ?? "";
  const promptIds = tokenizer.encode(prompt, { beginsText: true });
  using sequence = engine.open(promptIds, { seed: 7 });
  const span = await sequence.generate({ maxTokens: 24 });
  const [choice] = reply.choices as unknown as {
    token_ids: number[];
    logprobs: { content: { id: number; logprob: number }[] };
  }[];
  assert.deepEqual(choice?.token_ids, [...span.ids]);
  const told = choice?.logprobs.content ?? [];
  assert.deepEqual(
    told.map(({ logprob }) => logprob),
    [...span.logprobs].slice(0, told.length),
  );
  using scored = engine.open(promptIds);
  const { logprobs } = await scored.score(span.ids);
  assert.deepEqual([...logprobs], [...span.logprobs]);
  assert.equal(reply.usage?.prompt_tokens, promptIds.length);
  assert.equal(reply.usage?.completion_tokens, span.ids.length);
});

test("the likely tokens stand beside each token, with its own log-probability among them", async (t) => {
  const { client } = await servedWorld(t);
  const { choices } = await client.chat.completions.create({
    ...{ ...asked, temperature: 0, logprobs: true, top_logprobs: 3 },
  });
  const content = choices[0]?.logprobs?.content ?? [];
  assert.ok(content.length > 0);
  for (const { token, logprob, top_logprobs } of content) {
    assert.equal(top_logprobs.length, 3);
    // The likeliest is drawn at temperature 0.
    assert.deepEqual([top_logprobs[0]?.token, top_logprobs[0]?.logprob], [token, logprob]);
    assert.ok((top_logprobs[1]?.logprob ?? 0) <= logprob);
  }
});

test("the pieces of a stream are the whole, and its usage comes last", async (t) => {
  const { client } = await servedWorld(t);
  const whole = await client.chat.completions.create({ ...asked, temperature: 0 });
  const stream = await client.chat.completions.create({
    ...{ ...asked, temperature: 0, stream: true as const },
    stream_options: { include_usage: true },
  });
  let [text, finish] = ["", ""];
  let usage: unknown;
  for await (const chunk of stream) {
    const [choice] = chunk.choices;
    text += choice?.delta.content ?? "";
    finish ||= choice?.finish_reason ?? "";
    if (chunk.choices.length === 0) usage = chunk.usage;
  }
  const [choice] = whole.choices;
  assert.deepEqual([text, finish], [choice?.message.content, choice?.finish_reason]);
  assert.deepEqual(
    { ...whole.usage, prompt_tokens_details: 0 },
    { ...(usage as object), prompt_tokens_details: 0 },
  );
});

test("a stop string ends the text before it, wherever tokens cut it, and never shows in a stream", async (t) => {
  const { client } = await servedWorld(t);
  const free = await client.chat.completions.create({ ...asked, temperature: 1.5, seed: 2 });
  const text = free.choices[0]?.message.content ?? "";
  assert.ok(text.length > 12, text);
  for (const at of [3, 6, 9]) {
    const stop = text.slice(at, at + 4);
    const stream = await client.chat.completions.create({
      ...asked,
      temperature: 1.5,
      seed: 2,
      stop,
      stream: true,
    });
    let [shown, reason] = ["", ""];
    for await (const { choices } of stream) {
      shown += choices[0]?.delta.content ?? "";
      assert.ok(!shown.includes(stop), shown);
      reason = choices[0]?.finish_reason ?? reason;
    }
    assert.deepEqual([shown, reason], [text.slice(0, text.indexOf(stop)), "stop"]);
  }
});

test("choices have seeds of their own, and a seed says the same whatever else runs", async (t) => {
  const { client } = await servedWorld(t);
  const ask = async (seed: number, n: number) => {
    const { choices } = await client.chat.completions.create({ ...asked, n, seed, temperature: 1.5 });
    return choices.map(({ message }) => message.content);
  };
  const [four, second] = await Promise.all([ask(3, 4), ask(4, 1), ask(9, 8)]);
  assert.equal(new Set(four).size, 4);
  assert.equal(second?.[0], four?.[1]);
});

test("a second turn reads only what the first has not", async (t) => {
  const { client, engine } = await servedWorld(t, { engine: { blockTokens: 16 } });
  const long = [{ role: "user" as const, content: `${"Nightwinter ".repeat(40)}who directed it` }];
  const first = await client.chat.completions.create({ ...asked, messages: long });
  const before = await engine.stats();
  const turns = [
    ...long,
    { role: "assistant" as const, content: first.choices[0]?.message.content ?? "" },
    { role: "user" as const, content: "and who else" },
  ];
  const reply = await client.chat.completions.create({ ...asked, messages: turns, max_tokens: 1 });
  const after = await engine.stats();
  assert.ok(after.numReused - before.numReused >= (first.usage?.prompt_tokens ?? Number.NaN) - 16);
  assert.ok(after.numPrefilled - before.numPrefilled < (reply.usage?.prompt_tokens ?? 0) / 2);
});

test("a client that leaves frees its sequence at once, streaming or not", async (t) => {
  const { client, engine } = await servedWorld(t);
  const long = { ...asked, max_tokens: 900, temperature: 1.5, n: 4 };
  const leave = new AbortController();
  const waiting = client.chat.completions.create(long, { signal: leave.signal });
  await until(async () => (await engine.stats()).numSequences === 4);
  leave.abort();
  await assert.rejects(waiting);
  await until(async () => (await engine.stats()).numSequences === 0);
  const stream = await client.chat.completions.create({ ...long, stream: true });
  for await (const _ of stream) break;
  await until(async () => (await engine.stats()).numSequences === 0);
});

test("an adapter answers under its own name, in the batches of its model", async (t) => {
  const { client, engine, policy, tokenizer } = await servedWorld(t);
  const adapter = await Adapter.create(policy.model, { rank: 4, seed: 1 });
  t.after(() => adapter.close());
  const { languageModels } = await import("../../../apps/serve/model/open-models.ts");
  const { serveModels } = await import("../../../apps/serve/model/model-server.ts");
  const models = languageModels({
    ...{ name: "world", engine, tokenizer, chatTemplate: policy.chatTemplate },
    adapters: { tuned: adapter },
  });
  const server = await serveModels({ models, port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  const other = client.withOptions({ baseURL: `${server.url}/v1` });
  const ask = async (model: string) =>
    (await other.chat.completions.create({ ...asked, model, temperature: 0 })).choices[0]?.message.content;
  const [plain, tuned] = await Promise.all([ask("world"), ask("tuned")]);
  // A new adapter changes nothing.
  assert.equal(tuned, plain);
  await assert.rejects(ask("else"), { status: 404, code: "model_not_found" });
});

test("requests wait for memory in a bounded queue, and more are told to come back", async (t) => {
  const { client, models } = await servedWorld(t, {
    engine: { numBlocks: 16, blockTokens: 64 },
    models: { maxWaiting: 1 },
  });
  // Held by the test itself: how long a reply takes is up to the machine.
  const { admission } = models[0] as LanguageModel;
  const signal = AbortSignal.timeout(60_000);
  const leave = await admission.enter({ numPromptTokens: 64, maxTokens: 512, n: 1 }, signal);
  const second = client.chat.completions.create({ ...asked, max_tokens: 600 });
  await until(() => admission.numWaiting === 1);
  await assert.rejects(client.chat.completions.create(asked), { status: 429, code: "too_busy" });
  leave();
  assert.equal((await second).object, "chat.completion");
});

test("a client that goes away gives back the memory that was set aside for its reply", async (t) => {
  const { client, models } = await servedWorld(t);
  const { admission } = models[0] as LanguageModel;
  const stream = await client.chat.completions.create({ ...asked, max_tokens: 800, stream: true });
  stream.controller.abort();
  await until(() => admission.numRunning === 0 && admission.numReserved === 0);
});

test("what cannot be asked is refused by the field's name", async (t) => {
  const { url } = await servedWorld(t);
  const ask = async (body: object) => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ ...asked, ...body }),
    });
    const { error } = (await answer.json()) as { error: { message: string; param: string } };
    return [answer.status, error.param, error.message];
  };
  const toolOf = (parameters: object) => ({
    tools: [{ type: "function", function: { name: "f", parameters } }],
    tool_choice: "required",
  });
  const nested = (depth: number): object =>
    Array.from({ length: depth }).reduce<object>((a) => ({ properties: { a } }), {});
  const image = [{ type: "image_url", image_url: { url: "data:," } }];
  const refused: [object, string, RegExp][] = [
    [{ temperatur: 1 }, "temperatur", /temperatur/],
    [{ messages: [] }, "messages", /at least 1/],
    [{ messages: [{ role: "user", content: image }] }, "messages", /image_url.*images are not read/],
    [
      { messages: [{ role: "user", content: [{ type: "text" }] }] },
      "messages",
      /\[0\]\.text: expected a string/,
    ],
    [{ logit_bias: { 99999: 1 } }, "logit_bias", /logit_bias: expected 0 to 1140, got 99999/],
    [{ top_logprobs: 2 }, "top_logprobs", /logprobs: true/],
    [{ n: 1000 }, "n", /at most 128/],
    [{ tool_choice: "required" }, "tool_choice", /expected tools/],
    [toolOf({ type: "integer" }), "tools", /parameters\.type: expected a schema of the type object/],
    [toolOf(nested(300)), null as never, /at most 256 lists and objects within each other/],
    [{ messages: [{ role: "user", content: "x ".repeat(3000) }] }, null as never, /fewer than 1024 tokens/],
    [
      { messages: [{ role: "user", content: "x ".repeat(500_000) }] },
      null as never,
      /got far more in 1000\d* char/,
    ],
  ];
  for (const [body, param, message] of refused) {
    const [status, gotParam, gotMessage] = await ask(body);
    assert.deepEqual([status, gotParam], [400, param], String(gotMessage));
    assert.match(String(gotMessage), message);
  }
});
