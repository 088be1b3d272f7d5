/** A model that more ranks share, with activations made again and adapters, learns what that of one process learns. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { shapes } from "../../model/parallel/answers.ts";
import { compare, families, onRanks } from "./shared-steps.ts";

test("four ranks do, with activations that are made again", () =>
  compare(4, [{ shape: shapes.qwen3, loss: "grpo", activationBytes: 0 }]));

test("an adapter on quantised slices learns", async () => {
  const wanted = {
    loss: "sft" as const,
    isAdapter: true,
    weights: "nf4" as const,
    dtype: "bfloat16" as const,
  };
  const [told] = await onRanks(2, [{ ...wanted, shape: shapes.qwen2 }]);
  const [first, last] = ["stats 0", "stats 2"].map((name) => told!.steps[name]![0]!);
  assert.ok(last! < first!, `${first} to ${last}`);
});

test("an adapter on two ranks learns what one on one process does, in every family", () =>
  compare(
    2,
    families.map((shape) => ({ shape, loss: "grpo" as const, isAdapter: true })),
  ));
