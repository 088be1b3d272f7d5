/** `seekrl demo`: a few steps of its own training, and options that are refused. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { LoggedTrajectory } from "../../../../apps/runs/trajectories/logged-trajectory.ts";
import { runCli } from "../../run-cli.ts";
import { folder } from "./demo-runs.ts";

test("one command evaluates, trains in both modes and evaluates again; a training mixes both kinds of search", async () => {
  const out = join(folder, "mixed");
  const { code, stderr } = await runCli("demo", "--quick", "--out", out);
  assert.equal(code, 0, stderr);
  // One document or none for a query, or always two.
  const text = await readFile(join(out, "single-seed-0-quick", "trajectories.jsonl"), "utf8");
  const rows = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as LoggedTrajectory);
  const read = rows.flatMap(({ segments }) =>
    segments.filter(({ kind }) => kind === "observation").map(({ text }) => text.match(/Doc \d:/g)?.length),
  );
  assert.deepEqual([...new Set(read)].sort(), [1, 2]);
});

test("an option that would change nothing is refused", async () => {
  const refusals = [
    [["--recipe", "research", "--compare"], /--compare: expected without --recipe/],
    [["--recipe", "research", "--from-scratch"], /--from-scratch: expected without --recipe/],
    [["--recipe", "research,template=base"], /--recipe: template: .* the demo has its own words/],
    [["--recipe", "research,stage=1"], /--recipe: research has no "stage", which is of r1-searcher/],
  ] as const;
  for (const [args, message] of refusals) {
    const { code, stderr } = await runCli("demo", ...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
});
