/** Weights of an adapter that one rank trains and others generate with (law 6). */
import { test } from "node:test";
import { requireBroadcast } from "./received.ts";

test("every rank gets the root's adapter, bit for bit, and its version", () =>
  requireBroadcast("adapter", "float32"));
