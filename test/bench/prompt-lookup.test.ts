/** Benches that decode say whether prompt lookup is on: text that repeats itself comes several tokens a step with it. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "../project.ts";

test("each bench that opens an engine chooses prompt lookup by name", () => {
  const files = readdirSync(join(projectRoot, "bench"), { recursive: true, encoding: "utf8" });
  // On a GPU there is none.
  const texts = files
    .filter((file) => file.endsWith(".ts") && !file.startsWith("gpu"))
    .map((file) => ({ file, text: readFileSync(join(projectRoot, "bench", file), "utf8") }));
  const opening = texts.filter(({ text }) => /Engine\.open\(|openLocalPolicy\(/.test(text));
  assert.ok(opening.length >= 10);
  const silent = opening.filter(({ text }) => !text.includes("promptLookup"));
  assert.deepEqual(silent, []);
});
