/** Two processes train as one: the same losses, the same weights (law 3). */
import { test } from "node:test";
import { requireOneProcess } from "./runs.ts";

test("two ranks have the losses and weights of one process", () => requireOneProcess("grpo", [2]));
