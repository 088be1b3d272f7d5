/** A served model that learns from what its replies were worth. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import OpenAI from "openai";
import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { LearningModel } from "../../../lib/serve/learn/learning-model.ts";
import type { LearnEvent, LearnOptions } from "../../../lib/serve/learn/options.ts";
import { learnFrom } from "../../../lib/serve/learn/step.ts";
import { serveModels } from "../../../lib/serve/model/model-server.ts";
import { openLanguageModels } from "../../../lib/serve/model/open-models.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { checkpoint, until } from "../model/served.ts";

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function served(t: TestContext, given: Partial<LearnOptions>, record?: { folder: string }) {
  const policy = await openLocalPolicy({ model: checkpoint }, {});
  t.after(() => policy[Symbol.asyncDispose]());
  const { engine, tokenizer, chatTemplate, model } = policy;
  const events: LearnEvent[] = [];
  const shared = { engine, tokenizer, chatTemplate };
  const [base] = openLanguageModels({ name: "world", ...shared });
  const { LanguageModel } = await import("../../../lib/serve/model/language-model.ts");
  const learning = await LearningModel.open({
    ...{ name: "learner", model, onEvent: (event) => events.push(event) },
    serve: (adapter) =>
      new LanguageModel({ ...shared, id: "learner", parent: "world", adapter, admission: base.admission }),
    ...given,
  });
  t.after(() => learning.close());
  const server = await serveModels({ models: [base, learning], port: 0, record });
  t.after(() => server.close({ graceMs: 0 }));
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  const score = async (response_id: string, reward: number, choice = 0) =>
    fetch(`${server.url}/v1/feedback`, {
      method: "POST",
      body: JSON.stringify({ response_id, reward, choice }),
    });
  return { client, events, learning, score, policy, server };
}

/** A prompt after which the model writes many different words. */
const prompt = { model: "learner", prompt: "the city of", max_tokens: 6, temperature: 1 };

/** The share of words with an "a". */
function worth(text: string): number {
  const words = text.trim().split(/\s+/);
  return words.filter((word) => /a/.test(word)).length / words.length;
}

test("what is recorded is what was sampled, and is scored once", async (t) => {
  const folder = await temporary(t);
  const { client, score, policy } = await served(t, {}, { folder });
  const reply = await client.completions.create({
    ...{ ...prompt, n: 2, seed: 3 },
    ...({ return_token_ids: true } as object),
  });
  const choices = reply.choices as unknown as { token_ids: number[]; prompt_token_ids: number[] }[];
  assert.equal((await score(reply.id, 0.5, 1)).status, 200);
  assert.equal((await score(reply.id, 0.5, 1)).status, 404);
  assert.equal((await score("cmpl-unknown", 1)).status, 404);
  assert.equal((await score(reply.id, 1e308)).status, 400);
  const read = async (name: string) =>
    (await readFile(join(folder, name), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const rows = await read("replies.jsonl");
  assert.deepEqual(
    rows
      .sort((a, b) => a.choice - b.choice)
      .map(({ segments }) => segments.map(({ tokens }: { tokens: number[] }) => tokens)),
    choices.map(({ prompt_token_ids, token_ids }) => [prompt_token_ids, token_ids]),
  );
  for (const { segments } of rows) {
    using sequence = policy.engine.open(segments[0].tokens, { adapter: false });
    // A new adapter changes nothing, so the model alone has the same numbers.
    const { logprobs } = await sequence.score(segments[1].tokens);
    assert.deepEqual(segments[1].logprobs, [...logprobs]);
  }
  const [scored] = await read("feedback.jsonl");
  assert.deepEqual([scored.id, scored.choice, scored.reward], [reply.id, 1, 0.5]);
});

test("rewards rise while it serves, nothing fails, and a poisoned stretch changes nothing", async (t) => {
  const folder = await temporary(t);
  const { client, events, score } = await served(t, {
    ...{ folder, learningRate: 3e-3, batch: 64, share: 0.5, klCoef: 0, lora: { rank: 8 } },
    canary: { least: 48, window: 96 },
  });
  const round = async (worthOf: (text: string) => number): Promise<number> => {
    const reply = await client.completions.create({ ...prompt, n: 8 });
    const worths = reply.choices.map(({ text }) => worth(text));
    const given = await Promise.all(
      reply.choices.map(({ text, index }) => score(reply.id, worthOf(text), index)),
    );
    assert.ok(given.every(({ status }) => status === 200));
    return worths.reduce((sum, each) => sum + each, 0) / worths.length;
  };
  const rounds = async (count: number, worthOf = worth): Promise<number> => {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += await round(worthOf);
    return sum / count;
  };
  const has = (type: LearnEvent["type"]): boolean => events.some((event) => event.type === type);
  const before = await rounds(12);
  for (let i = 0; i < 40 && !has("promoted"); i++) await rounds(4);
  assert.ok(has("promoted"), JSON.stringify(events.at(-1)));
  const after = await rounds(12);
  assert.ok(after > before + 0.05, `${before} to ${after}`);
  assert.ok(!has("failed"));
  // From here on every reward is the opposite. The stable version has not changed, so rewards have: nothing is learnt from them.
  const opposite = (text: string): number => 1 - worth(text);
  for (let i = 0; i < 60 && !has("held"); i++) await rounds(2, opposite);
  assert.ok(has("held"), JSON.stringify(events.at(-1)));
  const held = events.length;
  await rounds(16, opposite);
  assert.deepEqual(events.slice(held), []);
  assert.ok((await rounds(12, opposite)) > before);
  for (let i = 0; i < 60 && !has("resumed"); i++) await rounds(2);
  assert.ok(has("resumed"));
  assert.ok((await rounds(12)) > before);
  const lines = async (name: string): Promise<number> =>
    (await readFile(join(folder, name), "utf8")).split("\n").length;
  const numSteps = events.filter(({ type }) => type === "step").length;
  await until(async () => (await lines("metrics.jsonl")) > numSteps);
  assert.ok((await lines("history.jsonl")) > events.length);
});

test("a candidate that earns less is rolled back", async (t) => {
  const { events, learning } = await served(t, { canary: { least: 16, window: 16 } });
  const reply = { id: "r", choice: 0, model: "learner", time: 0, segments: [], weightsVersion: 1 };
  const score = (version: number, reward: number): void =>
    learning.score({ ...reply, version, reward, isLearnable: false });
  for (let i = 0; i < 16; i++) score(1, i % 2);
  for (let i = 0; i < 16; i++) score(2, 0);
  await until(() => events.some(({ type }) => type === "rolledBack"));
  assert.deepEqual(events, [{ type: "rolledBack", step: 0, stable: 0.5, candidate: 0 }]);
});

test("steps and versions are counted on where a folder is gone on with, a line that was cut off is dropped", async (t) => {
  const folder = await temporary(t);
  const rows = [
    { type: "opened", step: 0, stable: 1, version: 2 },
    { type: "step", step: 1, version: 2, replies: [["r", 0]] },
    { type: "promoted", step: 1, version: 3 },
  ];
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  await writeFile(join(folder, "history.jsonl"), `${text}{"type":"st`);
  await served(t, { folder });
  const lines = (await readFile(join(folder, "history.jsonl"), "utf8")).trim().split("\n");
  const { time: _, ...last } = JSON.parse(lines.at(-1) ?? "");
  assert.equal(lines.length, 4);
  assert.deepEqual(last, { type: "opened", step: 1, stable: 4, version: 5 });
});

test("each prompt's choices are recorded and scored by their numbers in the answer", async (t) => {
  const folder = await temporary(t);
  const { client, score } = await served(t, {}, { folder });
  const reply = await client.completions.create({
    ...{ ...prompt, prompt: ["the city of", "who directed"], n: 2, seed: 3 },
    ...({ return_token_ids: true } as object),
  });
  for (let choice = 0; choice < 4; choice++)
    assert.equal((await score(reply.id, choice, choice)).status, 200);
  const rows = (await readFile(join(folder, "replies.jsonl"), "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .sort((a, b) => a.choice - b.choice);
  const choices = reply.choices as unknown as {
    index: number;
    token_ids: number[];
    prompt_token_ids: number[];
  }[];
  assert.deepEqual(
    rows.map(({ choice, segments }) => [
      choice,
      ...segments.map(({ tokens }: { tokens: number[] }) => tokens),
    ]),
    choices.map(({ index, prompt_token_ids, token_ids }) => [index, prompt_token_ids, token_ids]),
  );
});

test("a reply that was ended before its end is neither finished nor recorded", async (t) => {
  const folder = await temporary(t);
  const { client, policy, server } = await served(t, {}, { folder });
  const logit_bias = Object.fromEntries(policy.tokenizer.eosIds.map((id) => [id, -100]));
  const asked = { ...prompt, logit_bias, max_tokens: 900 };
  const told: string[] = [];
  const stream = await client.completions.create({ ...asked, stream: true });
  const reading = (async () => {
    for await (const { choices } of stream) {
      told.push(choices[0]?.finish_reason ?? "on");
      if (told.length === 1) void server.close({ graceMs: 0 });
    }
  })();
  await assert.rejects(reading, /shutting down/);
  assert.deepEqual(new Set(told), new Set(["on"]));
  await server.close();
  assert.equal(await readFile(join(folder, "replies.jsonl"), "utf8"), "");
});

test("a reward function that gives no reward at all is a fault, and scores nothing", async (t) => {
  const policy = await openLocalPolicy({ model: checkpoint }, {});
  t.after(() => policy[Symbol.asyncDispose]());
  const { engine, tokenizer, chatTemplate } = policy;
  const models = openLanguageModels({ name: "world", engine, tokenizer, chatTemplate });
  const faults: unknown[] = [];
  const onFault = ({ error }: { error: unknown }): number => faults.push(error);
  const record = { reward: () => Number.NaN };
  const server = await serveModels({ models, port: 0, record, onFault });
  t.after(() => server.close({ graceMs: 0 }));
  const body = JSON.stringify({ ...prompt, model: "world" });
  assert.equal((await fetch(`${server.url}/v1/completions`, { method: "POST", body })).status, 200);
  await until(() => faults.length > 0);
  assert.match(String(faults[0]), /record\.reward: expected a number from -1000000 to 1000000, got NaN/);
});

test("records go on behind the last whole line when a kill cut one off", async (t) => {
  const folder = await temporary(t);
  await writeFile(join(folder, "replies.jsonl"), `{"id":"cmpl-0"}\n{"id":"cmpl-1","segm`);
  const { client } = await served(t, {}, { folder });
  const { id } = await client.completions.create(prompt);
  const read = () => readFile(join(folder, "replies.jsonl"), "utf8");
  await until(async () => (await read()).includes(id));
  const rows = (await read())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    rows.map((row) => row.id),
    ["cmpl-0", id],
  );
});

test("one process learns in a folder; another is told who does, and learns there afterwards", async (t) => {
  const folder = await temporary(t);
  const { learning, policy } = await served(t, { folder });
  const again = () =>
    LearningModel.open({ name: "second", model: policy.model, serve: () => learning, folder });
  await assert.rejects(again(), { code: "ERR_STATE" });
  await learning.close();
  await (await again()).close();
});

test("a history that was changed is refused by its line, and stays as it is", async (t) => {
  const folder = await temporary(t);
  const text = `{"type":"opened","step":0,"stable":1,"version":2}\nnonsense\n`;
  await writeFile(join(folder, "history.jsonl"), text);
  await assert.rejects(served(t, { folder }), { code: "ERR_FORMAT", message: /history\.jsonl:2/ });
  assert.equal(await readFile(join(folder, "history.jsonl"), "utf8"), text);
});

test("what was learnt is learnt again from the records, bit for bit", async (t) => {
  const [folder, records] = [await temporary(t), await temporary(t)];
  const { client, events, score, policy } = await served(
    t,
    { ...{ folder, batch: 16, learningRate: 1e-2, lora: { rank: 4 } }, canary: { least: 16, errors: 0.01 } },
    { folder: records },
  );
  for (let i = 0; i < 12 && !events.some(({ type }) => type === "promoted"); i++) {
    const reply = await client.completions.create({ ...prompt, n: 8 });
    for (const { text, index } of reply.choices) await score(reply.id, worth(text), index);
  }
  await until(() => events.some(({ type }) => type === "promoted"));
  const rowsOf = async (path: string) =>
    (await readFile(path, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const replies = await rowsOf(join(records, "replies.jsonl"));
  const scores = await rowsOf(join(records, "feedback.jsonl"));
  const same = (each: { id: string; choice: number }, [id, choice]: readonly [string, number]): boolean =>
    each.id === id && each.choice === choice;
  const adapter = await Adapter.create(policy.model, { rank: 4, seed: 0 });
  t.after(() => adapter.close());
  let again = await adapter.clone();
  let trainer = await Trainer.open(again);
  let numSteps = 0;
  for (const row of await rowsOf(join(folder, "history.jsonl"))) {
    if (row.type === "promoted") break;
    if (row.type === "rolledBack") {
      again = await adapter.clone();
      trainer = await Trainer.open(again);
    }
    if (row.type !== "step") continue;
    const choices = row.replies.map((name: [string, number]) => ({
      segments: replies
        .find((each) => same(each, name))
        .segments.map((each: { tokens: number[]; logprobs?: number[] }) => ({
          ...each,
          tokens: Int32Array.from(each.tokens),
          logprobs: each.logprobs && Float32Array.from(each.logprobs),
        })),
      reward: scores.find((each) => same(each, name)).reward,
    }));
    await learnFrom(choices, { trainer, reference: policy.model, numSteps, options: { learningRate: 1e-2 } });
    numSteps += 1;
  }
  await again.save(records);
  const name = "adapter_model.safetensors";
  assert.deepEqual(await readFile(join(records, name)), await readFile(join(folder, name)));
});
