/** Ranks that were not given the same are refused before anything is trained or written. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runRanks } from "../../comm/ranks.ts";
import { withFolder } from "../run/kill.ts";

/** By what rank 1 was given: the name, its value on rank 0 and that on rank 1. */
const expected = {
  steps: ["steps", "4", "5"],
  order: ["data", '"[0-9a-f]{64}"', '"[0-9a-f]{64}"'],
  rate: ["learningRate\\.policy\\.0", "0.0006\\d*", "0.0002"],
  level: ["trainer\\.optimizer\\.zero", "0", "1"],
  optimizer: ["trainer\\.optimizer\\.weightDecay", "0.01", "0.5"],
  policy: ["trainer\\.hasAdapter", "false", "true"],
  model: ["--model", '"content 0"', '"content 1"'],
} as const;

test("ranks that were given different things are told which, and nothing has begun", async () => {
  await withFolder(async (parent) => {
    const folder = join(parent, "run");
    const ranks = await runRanks("./unlike-rank.js", import.meta.url, { size: 2, args: [folder] });
    for (const { code, stderr, lines } of ranks) {
      assert.deepEqual([code, stderr, lines.length], [0, "", Object.keys(expected).length]);
      for (const line of lines as { name: keyof typeof expected; [key: string]: unknown }[]) {
        const [name, first, second] = expected[line.name];
        assert.deepEqual([line.steps, line.code], [0, "ERR_ARGUMENT"]);
        const what = `^${name}: expected the same on all ranks, got ${first} on rank 0 and ${second} on rank 1$`;
        assert.match(String(line.message), new RegExp(what));
      }
    }
    assert.ok(!existsSync(folder));
  });
});
