/** How tests are chosen, ordered and reported (scripts/test.mjs), and what the default set may not need. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { importScript, projectRoot } from "./project.ts";

const { chooseFiles, longestFirst } = await importScript("scripts/test/choose.mjs");
const { readSeconds, writeSeconds } = await importScript("scripts/test/seconds.mjs");
const { slowestLast } = await importScript("scripts/test/slowest.mjs");

const files = ["a/fast.test.ts", "a/slow.full.test.ts", "b/fast.test.ts", "c/slow.full.test.ts"];

test("the default set is every file but those of the full set, and --full is both", () => {
  assert.deepEqual(chooseFiles(files, [], { full: false }), ["a/fast.test.ts", "b/fast.test.ts"]);
  assert.deepEqual(chooseFiles(files, [], { full: true }), files);
});

test("a part of a path chooses files of the set, and of the full set where it alone has the part", () => {
  assert.deepEqual(chooseFiles(files, ["a/"], { full: false }), ["a/fast.test.ts"]);
  assert.deepEqual(chooseFiles(files, ["a/"], { full: true }), ["a/fast.test.ts", "a/slow.full.test.ts"]);
  assert.deepEqual(chooseFiles(files, ["a/slow"], { full: false }), ["a/slow.full.test.ts"]);
  assert.deepEqual(chooseFiles(files, ["c/", "slow"], { full: false }), [
    "c/slow.full.test.ts",
    "a/slow.full.test.ts",
  ]);
  assert.deepEqual(chooseFiles(files, ["none"], { full: true }), []);
});

test("files that took longest last time run first, after those that have never run", () => {
  const seconds = { "a/fast.test.ts": 1, "a/slow.full.test.ts": 60 };
  const sizes: Record<string, number> = { "b/fast.test.ts": 900, "c/slow.full.test.ts": 10 };
  const sizeOf = (file: string): number => sizes[file] ?? 0;
  assert.deepEqual(longestFirst(files, seconds, sizeOf), [
    "c/slow.full.test.ts",
    "b/fast.test.ts",
    "a/slow.full.test.ts",
    "a/fast.test.ts",
  ]);
});

test("seconds of files are kept between runs, and damaged ones count as unknown", async () => {
  const root = await mkdtemp(join(tmpdir(), "seekrl-"));
  after(() => rm(root, { recursive: true }));
  assert.deepEqual(readSeconds(root), {});
  writeSeconds(root, { "a.test.ts": 1, "b.test.ts": 2 });
  writeSeconds(root, { "b.test.ts": 3 });
  assert.deepEqual(readSeconds(root), { "a.test.ts": 1, "b.test.ts": 3 });
  await writeFile(join(root, "build", "test-seconds.json"), '{"a.t');
  assert.deepEqual(readSeconds(root), {});
});

/** The events of a run of two files, the second of which has a slow test. */
async function* twoFiles() {
  const done = (file: string, name: string, seconds: number) => ({
    type: "test:complete",
    data: { nesting: 0, name, file: `/p/dist/test/${file}`, details: { duration_ms: seconds * 1000 } },
  });
  yield done("x/a.test.js", "a test", 0.25);
  yield done("x/a.test.js", "/p/dist/test/x/a.test.js", 1);
  yield done("b.full.test.js", "a slow test", 7);
  yield done("b.full.test.js", "/p/dist/test/b.full.test.js", 8);
  yield { type: "test:diagnostic", data: { nesting: 0, message: "tests 2" } };
  yield { type: "test:diagnostic", data: { nesting: 0, message: "pass 2" } };
}

test("the slowest tests and files stand before the counts, with their seconds", async () => {
  let seconds: unknown;
  const messages: string[] = [];
  const events = slowestLast({ onFiles: (found: unknown) => (seconds = found) })(twoFiles());
  for await (const { type, data } of events) if (type === "test:diagnostic") messages.push(data.message);
  assert.deepEqual(messages, [
    "slowest tests",
    "     7.0 s  a slow test (b.full.test.ts)",
    "     0.3 s  a test (x/a.test.ts)",
    "slowest files",
    "     8.0 s  b.full.test.ts",
    "     1.0 s  x/a.test.ts",
    "tests 2",
    "pass 2",
  ]);
  assert.deepEqual(seconds, { "x/a.test.ts": 1, "b.full.test.ts": 8 });
});

test("no test of the default set needs a program that only the full set builds", () => {
  const names = ["test", "cuda_test", "cuda_race_test", "emulated", "bench"].map((name) => `seekrl_${name}`);
  const needing = readdirSync(join(projectRoot, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts") && !file.endsWith(".full.test.ts"))
    .filter((file) => {
      const text = readFileSync(join(projectRoot, "test", file), "utf8");
      return names.some((name) => text.includes(name));
    });
  assert.deepEqual(needing, []);
});
