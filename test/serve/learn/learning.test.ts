/** A served model that learns from what its replies were worth. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import OpenAI from "openai";
import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { LearningModel } from "../../../lib/serve/learn/learning-model.ts";
import type { LearnEvent, LearnOptions } from "../../../lib/serve/learn/options.ts";
import { serveModels } from "../../../lib/serve/model/model-server.ts";
import { languageModels } from "../../../lib/serve/model/open-models.ts";
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
  const [base] = languageModels({ name: "world", ...shared });
  const { LanguageModel } = await import("../../../lib/serve/model/language-model.ts");
  assert.ok(base instanceof LanguageModel);
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
  return { client, events, learning, score, policy };
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
  const read = async (name: string) =>
    (await readFile(join(folder, name), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const rows = await read("replies.jsonl");
  assert.deepEqual(
    rows.map(({ segments }) => segments.map(({ tokens }: { tokens: number[] }) => tokens)),
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

test("rewards rise while it serves, nothing fails, and a poisoned stretch is rolled back", async (t) => {
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
  // For a while every reward is the opposite: what is learnt then is worse, and the true rewards show it.
  const numSteps = () => events.filter(({ type }) => type === "step").length;
  const begun = numSteps();
  while (numSteps() < begun + 4) await rounds(2, (text) => 1 - worth(text));
  const stepsAt = events.length;
  for (let i = 0; i < 60 && !events.slice(stepsAt).some(({ type }) => type === "rolledBack"); i++)
    await rounds(2);
  assert.ok(events.slice(stepsAt).some(({ type }) => type === "rolledBack"));
  assert.ok((await rounds(12)) > before);
  await until(async () => (await readFile(join(folder, "metrics.jsonl"), "utf8")).split("\n").length > begun);
});
