/** What the teacher shows in the words of a recipe is, token for token, what a rollout of that recipe shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { agenticWorldRecipe } from "../../apps/world/recipes/agentic-world.ts";
import { type SpeechFamily, worldSpeech, worldTeaching } from "../../apps/world/recipes/world-speech.ts";
import { fitToWorld, worldSizes } from "../../apps/world/recipes/world-training.ts";
import { kNames } from "../../apps/world/story/names.ts";
import { r1Searcher } from "../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import { searchR1 } from "../../lib/recipes/search-r1.ts";
import { replay, tokenizer } from "./small-world.ts";

const names = new Set(Object.values(kNames).flat());

const recipes: readonly [keyof typeof worldSizes, Recipe, SpeechFamily][] = [
  ["rag-r1", ragR1({ queries: "multi" }), "rag"],
  ["search-r1", searchR1({ format: true }), "rag"],
  ["research", reSearch(), "research"],
  ["r1-searcher 2", r1Searcher({ stage: 2 }), "r1-searcher"],
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

/** Words of two letters and more that stand in the text as single letters. */
function speltWords(text: string): string[] {
  const pieces = Array.from(tokenizer.encode(text), (id) => tokenizer.decode([id]));
  const marked = pieces.map((piece) => (/^[A-Za-z]$/.test(piece) ? piece : " ")).join("");
  return marked.match(/[A-Za-z]{2,}/g) ?? [];
}

test("no agent spells a word by the letter, and what it reads spells names alone", () => {
  const families = [...recipes, ["agentic-rag-r1", agenticWorldRecipe(), "memory"]] as const;
  for (const [name, own, family] of families) {
    const teaching = worldTeaching(fitToWorld(own, worldSizes[name]), { family });
    for (const { segments } of teaching(0, { seed: 1, perWorld: 12 })) {
      for (const { kind, text } of segments) {
        const spelt = speltWords(text).filter((word) => kind === "policy" || !names.has(word));
        assert.deepEqual(spelt, [], `${name}: ${text}`);
      }
    }
  }
});
