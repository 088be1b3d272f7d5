/** A real small model against its reference. Runs where SEEKRL_SHARED_DATA points at the reference data. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";

const data = process.env.SEEKRL_SHARED_DATA ?? "";
const skip = data === "" ? "SEEKRL_SHARED_DATA does not point at the reference data" : false;

test("greedy on stories260K is the reference's continuation", { skip }, async () => {
  const folder = join(data, "weights", "stories260K");
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
