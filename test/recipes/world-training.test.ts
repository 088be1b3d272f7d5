/** Published recipes on the built-in world: what is theirs, and what is not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { differencesOf, fitToWorld, worldSizes } from "../../apps/world/recipes/world-training.ts";
import { r1Searcher } from "../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import { searchR1 } from "../../lib/recipes/search-r1.ts";

const recipes: readonly [keyof typeof worldSizes, Recipe][] = [
  ["rag-r1", ragR1({ queries: "single" })],
  ["rag-r1", ragR1({ queries: "multi" })],
  ["search-r1", searchR1()],
  ["search-r1 grpo", searchR1({ algorithm: "grpo" })],
  ["research", reSearch()],
  ["r1-searcher 1", r1Searcher({ stage: 1 })],
  ["r1-searcher 2", r1Searcher({ stage: 2 })],
];

test("on the world a recipe keeps its reward, its tags, its advantage and its samples", () => {
  for (const [name, own] of recipes) {
    const used = fitToWorld(own, worldSizes[name]);
    assert.equal(used.reward, own.reward, name);
    assert.equal(used.algorithm.advantage, own.algorithm.advantage, name);
    assert.equal(used.training.samples, own.training.samples, name);
    for (const part of ["parse", "observation", "turnEnds", "invalid", "prefix"] as const) {
      assert.equal(used.format[part], own.format[part], `${name}: ${part}`);
    }
    assert.match(used.format.prompt("Who?"), /^Answer the question, searching with .*\nQuestion: Who\?\n$/);
  }
});

test("every setting that is not the recipe's own is named, with both values", () => {
  const own = searchR1();
  const used = fitToWorld(own, { limits: { topK: 2 }, algorithm: { clip: { low: 0.1, high: 0.2 } } });
  assert.deepEqual(differencesOf(own, used), [
    { name: "topK", own: 3, used: 2 },
    { name: "clip", own: undefined, used: { low: 0.1, high: 0.2 } },
  ]);
  assert.deepEqual(differencesOf(own, own), []);
});
