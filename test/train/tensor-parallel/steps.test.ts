/** A model that ranks share learns what that of one process learns: losses, gradients, norms, weights. */
import { test } from "node:test";
import { compare, families } from "./shared-steps.ts";

test("two ranks make the losses, gradients, norms and weights of one process, in every family", () =>
  compare(
    2,
    families.map((shape, i) => ({ shape, loss: i % 2 === 0 ? ("grpo" as const) : ("sft" as const) })),
  ));
