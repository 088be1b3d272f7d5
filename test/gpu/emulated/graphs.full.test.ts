/** Graphs of launches on a GPU, emulated, that fail: kernels are launched one by one then, and the GPU's memory is as it was. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Engine } from "../../../lib/engine/engine.ts";
import type { Model } from "../../../lib/model/model.ts";
import { ids, modelOn, shapes } from "../models.ts";

const plain = shapes["biases and a tied head"]!;

afterEach(() => {
  delete process.env["SEEKRL_EMULATED_GRAPH_FAULT"];
});

/** What one engine draws, and how. */
async function generate(model: Model) {
  await using engine = await Engine.open(model, { blockTokens: 16, numBlocks: 8 });
  await using sequence = engine.open(ids(9, 1), { seed: 3 });
  const { ids: tokens, logprobs } = await sequence.generate({ maxTokens: 8 });
  const { numReplays, graphRefusal } = await engine.stats();
  return { drawn: { tokens, logprobs }, numReplays, graphRefusal };
}

const faults: readonly (readonly [fault: string, refusal: RegExp])[] = [
  ["library", /^.*libseekrl_emulated\.so is of another version$/],
  ["begin", /^emulated: no capture begins$/],
  ["launch", /^emulated: an operation that no capture permits$/],
  ["end", /^emulated: the capture is invalid$/],
];
for (const [fault, refusal] of faults)
  test(`steps whose graph fails (${fault}) are launched with the same numbers, and said to be`, async () => {
    await using model = await modelOn("emulated", plain);
    process.env["SEEKRL_EMULATED_GRAPH_FAULT"] = fault;
    const launched = await generate(model);
    assert.equal(launched.numReplays, 0);
    assert.match(launched.graphRefusal ?? "", refusal);
    delete process.env["SEEKRL_EMULATED_GRAPH_FAULT"];
    // Memory that is taken while a pool is open without a capture is refused: none was left open.
    const replayed = await generate(model);
    assert.deepEqual(launched.drawn, replayed.drawn);
    assert.deepEqual([replayed.numReplays, replayed.graphRefusal], [6, undefined]);
  });

test("a GPU that fails is an error of the device, and the process goes on", async () => {
  await using model = await modelOn("emulated", plain);
  process.env["SEEKRL_EMULATED_GRAPH_FAULT"] = "replay";
  await assert.rejects(generate(model), { code: "ERR_DEVICE", message: "emulated: it has failed" });
  delete process.env["SEEKRL_EMULATED_GRAPH_FAULT"];
  assert.equal((await generate(model)).numReplays, 6);
});

test("the CPU has no graphs, and nothing to say of them", async () => {
  await using model = await modelOn("cpu", plain);
  const { numReplays, graphRefusal } = await generate(model);
  assert.deepEqual([numReplays, graphRefusal], [0, undefined]);
});
