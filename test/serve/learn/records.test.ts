/** What is recorded of served replies, and what scores them. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import { openLanguageModels } from "../../../apps/serve/model/open-models.ts";
import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { checkpoint, until } from "../model/served.ts";
import { prompt, served, temporary } from "./learner.ts";

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
