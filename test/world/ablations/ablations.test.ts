/** The ablations: what the base model has seen, and what the table says of results. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { baseDemonstrations, baseSft } from "../../../apps/world/ablations/base-model.ts";
import { type RunResult, runVariant } from "../../../apps/world/ablations/run-variant.ts";
import type { Setting } from "../../../apps/world/ablations/setting.ts";
import { ablationTables, directions } from "../../../apps/world/ablations/table.ts";
import { variants } from "../../../apps/world/ablations/variants.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

test("under the agents' prompt the base model has seen their tags one time in four, elsewhere never", () => {
  const counts = { agents: 0, obedient: 0 };
  const modes = new Set<string>();
  for (let step = 0; step < 40; step += 1) {
    for (const { segments, mode } of baseDemonstrations(0, step)) {
      const isAgents = segments[0]!.text.includes("Answer the question, searching");
      const said = segments.flatMap(({ kind, text }) => (kind === "policy" ? [text] : []));
      const obeys = said.every((text) => ragFormat(mode).parse(text, ragFormat(mode)).kind !== "invalid");
      const hasTags = segments.some(({ text }) => /<\/?(?:think|search|answer|information)>/.test(text));
      assert.equal(hasTags, obeys);
      assert.ok(isAgents || !obeys, "another prompt never shows the tags");
      counts.agents += Number(isAgents);
      counts.obedient += Number(obeys);
      if (obeys) modes.add(mode);
    }
  }
  const { unheeding, obedient } = baseSft;
  assert.deepEqual(counts, { agents: 40 * (unheeding + obedient), obedient: 40 * obedient });
  assert.equal(obedient / (unheeding + obedient), 0.25);
  assert.deepEqual([...modes].sort(), ["multi", "single"]);
});

test("the same seed and step give the same demonstrations", () => {
  assert.deepEqual(baseDemonstrations(3, 5), baseDemonstrations(3, 5));
});

/** A result whose first `right` of ten questions are right. */
function result(variant: string, mode: "single" | "multi", right: number, seed = 0, rounds = 1): RunResult {
  return {
    ...{ variant, mode, seed, rounds, em: right / 10, f1: right / 10, secondsPerQuestion: rounds / 100 },
    ...{ generatedTokens: 40, invalidActions: 0, trainSeconds: 1, rlSteps: 2 },
    perQuestion: Array.from({ length: 10 }, (_, i) => Number(i < right)),
  };
}

test("a direction holds in every seed, in some or in none, and says by how much", () => {
  const results = [0, 1].flatMap((seed) => [
    result("whole", "single", 8, seed, 2),
    result("without SFT", "single", 6, seed),
    result("without RL", "single", seed === 0 ? 7 : 9, seed),
    result("without selection", "single", 9, seed),
    result("whole", "multi", 9, seed, 1.5),
  ]);
  const found = directions(results).map(({ claim, mode, holds, differences }) => [
    claim,
    mode,
    holds,
    differences.map((value) => Number(value.toFixed(6))),
  ]);
  assert.deepEqual(found, [
    ["SFT helps", "single", "in every seed", [20, 20]],
    ["RL helps", "single", "in some seeds", [10, -10]],
    ["selection helps", "single", "in no seed", [-10, -10]],
    ["parallel queries answer more", "both", "in every seed", [10, 10]],
    ["parallel queries take fewer rounds", "both", "in every seed", [0.5, 0.5]],
    ["parallel queries take less time", "both", "in every seed", [5, 5]],
  ]);
});

test("p-values are the exact sign test's over the questions of all seeds", () => {
  const results = [result("whole", "multi", 9), result("without RL", "multi", 3)];
  // Six questions differ, all one way: 2 / 2^6.
  const { pValue } = directions(results)[0]!;
  assert.ok(Math.abs(pValue! - 2 / 2 ** 6) < 1e-12);
});

test("a run that is missing leaves its cell empty and its pairs out", () => {
  const results = [
    result("whole", "single", 8, 0),
    result("whole", "single", 7, 1),
    result("without RL", "single", 5, 1),
  ];
  const table = ablationTables(results);
  assert.match(table, /\| single \| without RL \| {2}\| 50\.0 \| 50\.0 \|/);
  assert.match(table, /\| single \| whole \| 80\.0 \| 70\.0 \| 75\.0 \|.*\| 39\.2 \|/);
  assert.match(table, /\| RL helps \| single \| \+20\.0 EM points \|/);
});

test("a run whose result is there is not run again", async () => {
  const known = result("without RL", "single", 4);
  const variant = variants.find(({ name }) => name === "without RL")!;
  await mkdir(join(folder, "without-RL"));
  await writeFile(join(folder, "without-RL", "result.json"), JSON.stringify(known));
  assert.deepEqual(await runVariant(variant, { folder } as Setting, {} as never), known);
});
