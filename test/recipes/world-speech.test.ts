/** What the teacher shows in the words of a recipe is, token for token, what a rollout of that recipe shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { rSearcher } from "../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import { searchR1 } from "../../lib/recipes/search-r1.ts";
import { type SpeechFamily, worldSpeech } from "../../lib/recipes/world-speech.ts";
import { fitToWorld, worldSizes } from "../../lib/recipes/world-training.ts";
import { replay } from "./small-world.ts";

const recipes: readonly [keyof typeof worldSizes, Recipe, SpeechFamily][] = [
  ["rag-r1", ragR1({ queries: "multi" }), "rag"],
  ["search-r1", searchR1({ format: true }), "rag"],
  ["research", reSearch(), "research"],
  ["r1-searcher 2", rSearcher({ stage: 2 }), "r1-searcher"],
];

for (const [name, own, family] of recipes) {
  test(`a demonstration of ${name} and its rollout have the same tokens and the whole reward`, async () => {
    const fitted = fitToWorld(own, worldSizes[name]);
    // The teacher knows of no last turn, and has nothing announced.
    const recipe = { ...fitted, limits: { ...fitted.limits, maxTurns: 6 } };
    let rounds = 0;
    for (let i = 0; i < 12; i++) {
      const { asked, trajectory, said } = await replay(recipe, `q${i}`, worldSpeech(own, family));
      assert.equal(await recipe.reward(trajectory, asked), 1, said);
      rounds += trajectory.rounds;
    }
    assert.ok(rounds > 12);
  });
}
