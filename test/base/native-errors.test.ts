/** Errors of the native core, as a caller meets them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeekError } from "../../lib/base/errors.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";

const shape = {
  vocabSize: 8,
  hiddenSize: 8,
  intermediateSize: 8,
  numLayers: 1,
  numHeads: 1,
  maxPosition: 16,
};

test("what the native core throws is a SeekError: at once, from a promise, from a step of the engine", async () => {
  await using model = await Model.create(shape);
  await assert.rejects(
    async () => model.parameter("nobody"),
    (error) => error instanceof SeekError && error.code === "ERR_ARGUMENT" && error.name === "SeekError",
  );
  await using engine = await Engine.open(model);
  assert.throws(
    () => engine.open(Int32Array.of(99)),
    (error) => error instanceof SeekError && error.code === "ERR_RANGE",
  );
  model.close();
  await assert.rejects(
    async () => model.parameter("model.norm.weight"),
    (error) => error instanceof SeekError && error.code === "ERR_STATE",
  );
});
