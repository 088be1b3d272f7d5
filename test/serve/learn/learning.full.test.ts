/** A served model learns while it serves: rewards rise, and a poisoned stretch changes nothing. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { LearnEvent } from "../../../apps/serve/learn/options.ts";
import { until } from "../model/served.ts";
import { prompt, served, temporary, worth } from "./learner.ts";

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
