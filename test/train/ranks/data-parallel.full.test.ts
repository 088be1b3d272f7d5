/** Trainings of several processes beside those of one: the same losses, the same weights (law 3). */
import { test } from "node:test";
import { requireOneProcess } from "./runs.ts";

for (const what of ["sft", "adapter", "ppo"])
  test(`${what}: two and four ranks have the losses and weights of one process`, () =>
    requireOneProcess(what, [2, 4]));

test("grpo: four ranks have the losses and weights of one process", () => requireOneProcess("grpo", [4]));
