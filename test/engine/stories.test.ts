/** A real small model against its reference. Skipped without the real data. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";

test("greedy on stories260K is the reference's continuation", { skip: skipWithoutData }, async () => {
  const folder = sharedData("weights", "stories260K");
  const reference = JSON.parse(await readFile(join(folder, "ref_greedy.json"), "utf8")) as {
    readonly ids: number[];
    readonly logprob_of_next: number[];
  };
  const { ids, logprob_of_next: expected } = reference;
  const model = await Model.load(folder);
  await using engine = await Engine.open(model);
  const sequence = engine.open(ids.slice(0, 1));
  const span = await sequence.generate({ maxTokens: ids.length - 1, temperature: 0 });
  assert.deepEqual([...span.ids], ids.slice(1));
  assert.ok(span.logprobs.every((value, i) => Math.abs(value - expected[i]!) <= 1e-4));
  model.close();
});
