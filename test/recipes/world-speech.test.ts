/** What the teacher shows in the words of a recipe is, token for token, what a rollout of that recipe shows. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { rSearcher } from "../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import { searchR1 } from "../../lib/recipes/search-r1.ts";
import { withWorldPrompt } from "../../lib/recipes/world.ts";
import { type SpeechFamily, worldSpeech } from "../../lib/recipes/world-speech.ts";
import { rolloutGroup } from "../../lib/rollout/agent.ts";
import { ChatTemplate } from "../../lib/text/chat-template.ts";
import { Tokenizer } from "../../lib/text/tokenizer.ts";
import { drawCast, inventFacts } from "../../lib/world/facts.ts";
import { Library } from "../../lib/world/library.ts";
import { writePassages } from "../../lib/world/passages.ts";
import { askQuestion } from "../../lib/world/questions.ts";
import { Dice } from "../../lib/world/random.ts";
import { demonstrate, kCarefulHabits } from "../../lib/world/teacher.ts";
import { writeWorldTokenizer } from "../../lib/world/tokenizer-files.ts";
import { ScriptedSequence } from "../rollout/doubles.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
writeWorldTokenizer(folder);
const tokenizer = await Tokenizer.load(folder);
const chatTemplate = await ChatTemplate.load(folder);

const dice = new Dice(5, 0);
const facts = inventFacts(dice, drawCast(dice, { person: 24, city: 16, country: 8, company: 8, work: 12 }));
const library = new Library(writePassages(dice, facts));
const search = async (queries: readonly string[], { topK }: { topK: number }) => {
  return queries.map((query) => library.search(query, topK));
};

const recipes: readonly [name: string, recipe: Recipe, family: SpeechFamily, earned: number][] = [
  ["rag-r1", ragR1({ queries: "multi" }), "rag", 1],
  ["search-r1", searchR1({ format: true }), "rag", 1],
  ["research", reSearch(), "research", 1],
  ["r1-searcher", rSearcher({ stage: 2 }), "r1-searcher", 1],
];

for (const [name, recipe, family, earned] of recipes) {
  test(`a demonstration of ${name} and its rollout have the same tokens and the whole reward`, async () => {
    const speech = worldSpeech(recipe, family);
    const { format, sampling, reward } = withWorldPrompt(recipe);
    const limits = { ...recipe.limits, maxTurns: 6, topK: 2, maxResponseTokens: 1000, maxTokens: 8000 };
    const options = { mode: format.mode, topK: 2, habits: kCarefulHabits, varied: false, speech };
    let rounds = 0;
    for (let i = 0; i < 12; i++) {
      const asked = askQuestion(dice, facts, `q${i}`);
      const shown = demonstrate(dice, { facts, library }, asked, options);
      const policy = shown.filter(({ kind }) => kind === "policy");
      const turns = policy.map(({ text }) => ({ ids: tokenizer.encode(text), stop: "stop" as const }));
      const engine = { open: () => new ScriptedSequence(...turns) };
      const parts = { format, sampling, limits, tokenizer, chatTemplate, search, engine };
      const [trajectory] = await rolloutGroup(parts, asked);
      assert.ok(trajectory);
      const expected = shown.map(({ kind, text }) => ({ kind, text, tokens: tokenizer.encode(text) }));
      assert.deepEqual(
        trajectory.segments.map(({ kind, text, tokens }) => ({ kind, text, tokens })),
        expected,
      );
      assert.deepEqual([trajectory.stop, trajectory.invalidActions], ["answer", 0]);
      assert.equal(await reward(trajectory, asked), earned, policy.map(({ text }) => text).join("\n"));
      rounds += trajectory.rounds;
    }
    assert.ok(rounds > 12);
  });
}
