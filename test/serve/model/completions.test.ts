/** Completions of a real model: texts go on as they stand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { servedWorld } from "./served.ts";

const asked = { model: "world", max_tokens: 8, temperature: 0 };

test("text, ids and lists of either are continued, each by itself", async (t) => {
  const { client, tokenizer } = await servedWorld(t);
  const texts = ["who directed", "the city of"];
  const ids = texts.map((text) => [...tokenizer.encode(text)]);
  const single = await Promise.all(texts.map((prompt) => client.completions.create({ ...asked, prompt })));
  const alone = single.map(({ choices }) => choices[0]?.text);
  for (const prompt of [texts, ids]) {
    const { choices, usage } = await client.completions.create({ ...asked, prompt });
    assert.deepEqual(
      choices.map(({ text }) => text),
      alone,
    );
    assert.deepEqual(
      choices.map(({ index }) => index),
      [0, 1],
    );
    assert.equal(usage?.prompt_tokens, ids.flat().length);
  }
});

test("the pieces of a stream are the whole, with echo and choices", async (t) => {
  const { client } = await servedWorld(t);
  const request = {
    ...asked,
    temperature: 1,
    seed: 5,
    n: 3,
    prompt: "who directed",
    echo: true,
    logprobs: 0,
  };
  const whole = await client.completions.create(request);
  const texts = ["", "", ""];
  const offsets: number[][] = [[], [], []];
  for await (const { choices } of await client.completions.create({ ...request, stream: true })) {
    for (const { index, text, logprobs } of choices) {
      texts[index] += text;
      offsets[index]?.push(...(logprobs?.text_offset ?? []));
    }
  }
  assert.deepEqual(
    texts,
    whole.choices.map(({ text }) => text),
  );
  assert.deepEqual(
    offsets,
    whole.choices.map(({ logprobs }) => logprobs?.text_offset),
  );
  assert.ok(texts.every((text) => text.startsWith("who directed")));
});

test("an echoed prompt has the log-probabilities that the engine scores", async (t) => {
  const { client, engine, tokenizer } = await servedWorld(t);
  const prompt = "who directed Nightwinter";
  const ids = tokenizer.encode(prompt);
  const { choices } = await client.completions.create({
    ...asked,
    prompt,
    echo: true,
    logprobs: 2,
    max_tokens: 1,
  });
  using sequence = engine.open(ids.subarray(0, 1));
  const { logprobs } = await sequence.score(ids.subarray(1));
  const told = choices[0]?.logprobs;
  assert.deepEqual(told?.token_logprobs?.slice(0, ids.length), [null, ...logprobs]);
  assert.equal(told?.tokens?.slice(0, ids.length).join(""), prompt);
  assert.equal(Object.keys(told?.top_logprobs?.[1] ?? {}).length, 2);
});

test("a prompt is scored without a token behind it, as evaluation harnesses ask", async (t) => {
  const { client, engine, tokenizer } = await servedWorld(t);
  const prompt = ["who directed Nightwinter", "the city of"].map((text) => [...tokenizer.encode(text)]);
  const { choices, usage } = await client.completions.create({
    ...{ model: "world", prompt, echo: true, logprobs: 1, max_tokens: 0, temperature: 0, seed: 1234 },
  });
  for (const [i, ids] of prompt.entries()) {
    using sequence = engine.open(ids.slice(0, 1));
    const { logprobs } = await sequence.score(ids.slice(1));
    const { text, finish_reason, logprobs: told } = choices[i] ?? assert.fail();
    assert.deepEqual([text, finish_reason], [tokenizer.decode(ids), "length"]);
    assert.deepEqual(told?.token_logprobs, [null, ...logprobs]);
    assert.equal(told?.top_logprobs?.length, ids.length);
  }
  assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens], [prompt.flat().length, 0]);
  const streamed = await client.completions.create({
    ...{ model: "world", prompt: "who", echo: true, logprobs: 1, max_tokens: 0, stream: true },
  });
  let text = "";
  for await (const { choices } of streamed) text += choices[0]?.text ?? "";
  assert.equal(text, "who");
});
