/** `seekrl demo --recipe`: a published recipe learns its tags and takes its first steps in the built-in world. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../../run-cli.ts";
import { requireLearning } from "./demo-runs.ts";

test("one command evaluates, trains and evaluates again", () => requireLearning("--recipe", "search-r1"));

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
