/** The page about scale says what its script computes. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { costOf, measured, scaleTable, ways } from "../../bench/search/retrieval-scale.ts";
import { projectRoot } from "../project.ts";

const page = await readFile(join(projectRoot, "docs/retrieval-scale.md"), "utf8");

test("the table of docs/retrieval-scale.md is the one that is computed", () => {
  assert.ok(page.includes(scaleTable()), "node dist/bench/search/retrieval-scale.js prints the table");
});

test("costs follow from the measured parts", () => {
  const way = (name: string) => ways.find((each) => each.name === name) ?? assert.fail(name);
  const bits = costOf(way("exact `b1`, scored again"), 1e9);
  assert.equal(bits.residentBytes, 96e9);
  assert.equal(bits.machines, 1);
  // 16 cores, each of which reads 200,000 rows of 768 bits 1,477.5 times a second.
  assert.ok(Math.abs(bits.perSecond - (16 * 1477.5 * 200_000) / 1e9) < 0.01);
  const words = costOf(way("words (BM25)"), 1e6);
  assert.ok(Math.abs(words.perSecond - 16 / (0.00032 + measured.queryOverheadSeconds)) < 1e-6);
  const graph = costOf(way("graph `bf16`"), 200_000);
  assert.ok(Math.abs(graph.perSecond - 16 / (2 / 24_536 + measured.queryOverheadSeconds)) < 1e-6);
});

test("the formulas of the page have the constants of the script", () => {
  for (const value of [491, 478, 268, 634, 889, 24_536, 30_127, 45_769, 6_133, 8_123])
    assert.ok(page.includes(value.toLocaleString("en-US")), `${value}`);
});
