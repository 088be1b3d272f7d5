/** Demos of published recipes, in a folder of their own. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { RecipeSummary } from "../../../../apps/world/demo/report/recipe-report.ts";
import { runCli } from "../../run-cli.ts";

export const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

export const outOf = (args: readonly string[]): string => join(folder, args.join("").replace(/\W/g, ""));

export async function demo(...args: string[]): Promise<RecipeSummary> {
  const out = outOf(args);
  const { code, stdout, stderr } = await runCli("demo", "--quick", "--out", out, "--json", ...args);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(await readFile(join(out, "summary.json"), "utf8")), JSON.parse(stdout));
  return JSON.parse(stdout) as RecipeSummary;
}

/** Runs the demo with these options; it evaluates, trains and evaluates again. */
export async function requireLearning(...args: string[]): Promise<void> {
  const { questions, stages, control } = await demo(...args);
  assert.equal(questions, 16);
  assert.ok(control && control.samples > 0 && control.em >= 0 && control.em <= 1);
  const [stage] = stages;
  assert.ok(stage && stages.length === 1);
  assert.equal(stage.steps, 2);
  for (const { reward, em, rounds } of [stage.before, stage.after]) {
    assert.ok([reward, em, rounds].every(Number.isFinite));
  }
  assert.ok(stage.differences.some(({ name, own, used }) => name === "steps" && own !== used));
}
