/** Recipes without a search, and the prompts of R1-Searcher's evaluation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryOnly } from "../../apps/world/recipes/memory-only.ts";
import { r1Searcher } from "../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { searchR1 } from "../../lib/recipes/search-r1.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { type R1SearcherQueryStyle, r1SearcherTags } from "../../lib/rollout/formats/r1-searcher.ts";
import { characters, recordedSearch, ScriptedSequence } from "../rollout/doubles.ts";

const question = { id: "a", question: "capital of France?", answers: ["Paris"] };

test("without a search there is one turn, a search is no action, and the answer earns what it earned", async () => {
  for (const recipe of [
    searchR1(),
    searchR1({ algorithm: "grpo", format: true }),
    ragR1({ queries: "multi" }),
  ]) {
    const { format, limits, sampling, reward } = memoryOnly(recipe);
    const asked: (readonly string[])[] = [];
    const play = async (turn: string) => {
      const sequence = new ScriptedSequence(turn);
      const parts = {
        engine: { open: () => sequence },
        tokenizer: characters,
        search: recordedSearch(asked),
      };
      const trajectory = await searchAgent({ ...parts, format, limits, sampling })(question);
      return { ...trajectory, reward: await reward(trajectory, question), stops: sequence.requests[0]?.stop };
    };
    const right = await play("<think>I know it.</think> <answer> Paris </answer>");
    assert.deepEqual([right.answer, right.reward, right.stops], ["Paris", 1, ["</answer>"]]);
    const searching = await play("<think>Look.</think> <search> France </search>");
    assert.deepEqual([searching.answer, searching.turns, searching.invalidActions], [undefined, 1, 1]);
    assert.deepEqual(asked, []);
    assert.ok(!format.prompt(question.question).includes("search"));
  }
});

test("R1-Searcher's four prompts differ in what they say of queries, and all show its tags", () => {
  const systems = (["triple", "subquestions", "keywords", "judgement"] as R1SearcherQueryStyle[]).map(
    (queryStyle) => r1Searcher({ stage: 2, queryStyle }).format.system ?? "",
  );
  assert.equal(new Set(systems).size, 4);
  for (const system of systems) {
    for (const tag of Object.values(r1SearcherTags)) assert.ok(system.includes(tag), system);
  }
  const says = (word: string): boolean[] => systems.map((system) => system.includes(word));
  assert.deepEqual(says("single triple"), [true, false, false, true]);
  assert.deepEqual(says("keyword_1\tkeyword_2"), [false, true, true, false]);
  assert.deepEqual(says("smaller ones"), [false, true, false, false]);
  assert.deepEqual(says("yes or no"), [false, false, false, true]);
  assert.equal(systems[0], r1Searcher({ stage: 2 }).format.system);
});
