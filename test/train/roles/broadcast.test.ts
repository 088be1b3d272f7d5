/** Weights that one rank trains and others generate with (law 6). */
import { test } from "node:test";
import { requireBroadcast } from "./received.ts";

test("every rank gets the root's weights, bit for bit, and its version", () =>
  requireBroadcast("model", "bfloat16"));
