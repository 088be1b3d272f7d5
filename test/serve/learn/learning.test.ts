/** A served model that learns from what its replies were worth. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { LearningModel } from "../../../apps/serve/learn/learning-model.ts";
import { learnFrom } from "../../../apps/serve/learn/step.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { until } from "../model/served.ts";
import { prompt, served, temporary, worth } from "./learner.ts";

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
