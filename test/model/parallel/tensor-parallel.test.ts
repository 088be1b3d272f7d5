/** A decoder that is shared out over real processes answers as the one of a single process does. */
import { test } from "node:test";
import { shapes } from "./answers.ts";
import { compare } from "./sharded.ts";

const inF32 = Object.keys(shapes).map((name) => [name, {}] as const);

test("two ranks draw the ids of one process, and score them alike, in every family", () =>
  compare(2, inF32, 3e-6));
