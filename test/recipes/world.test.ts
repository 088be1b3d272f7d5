/** What the world demonstrates is, token for token, what a rollout shows. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { worldRecipe } from "../../lib/recipes/world.ts";
import { emReward } from "../../lib/reward/reward.ts";
import { rolloutGroup } from "../../lib/rollout/agent.ts";
import { ChatTemplate } from "../../lib/text/chat-template.ts";
import type { QueryMode } from "../../lib/text/observation.ts";
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
await writeWorldTokenizer(folder);
const tokenizer = await Tokenizer.load(folder);
const chatTemplate = await ChatTemplate.load(folder);

const dice = new Dice(5, 0);
const facts = inventFacts(dice, drawCast(dice, { person: 24, city: 16, country: 8, company: 8, work: 12 }));
const library = new Library(writePassages(dice, facts));
const search = async (queries: readonly string[], { topK }: { topK: number }) => {
  return queries.map((query) => library.search(query, topK));
};

/** Replays a demonstration: the policy says what the teacher said, the environment answers by itself. */
async function replay(mode: QueryMode, name: string) {
  const asked = askQuestion(dice, facts, name);
  const { limits: usual, ...recipe } = worldRecipe({ queries: mode });
  // The teacher is more patient than the agents: four single queries and an answer are five turns.
  const limits = { ...usual, maxTurns: 5 };
  const options = { mode, topK: limits.topK, habits: kCarefulHabits, varied: false };
  const shown = demonstrate(dice, { facts, library }, asked, options);
  const policy = shown.filter(({ kind }) => kind === "policy");
  const turns = policy.map(({ text }) => ({ ids: tokenizer.encode(text), stop: "stop" as const }));
  const engine = { open: () => new ScriptedSequence(...turns) };
  const [trajectory] = await rolloutGroup(
    { ...recipe, limits, tokenizer, chatTemplate, search, engine },
    asked,
  );
  assert.ok(trajectory);
  return { shown, trajectory, asked };
}

for (const mode of ["single", "multi"] as const) {
  test(`a ${mode}-query demonstration and its rollout have the same tokens and a right answer`, async () => {
    let rounds = 0;
    for (let i = 0; i < 40; i++) {
      const { shown, trajectory, asked } = await replay(mode, `q${i}`);
      const expected = shown.map(({ kind, text }) => ({ kind, text, tokens: tokenizer.encode(text) }));
      const actual = trajectory.segments.map(({ kind, text, tokens }) => ({ kind, text, tokens }));
      assert.deepEqual(actual, expected);
      assert.deepEqual(
        [trajectory.stop, trajectory.invalidActions, emReward(trajectory, asked)],
        ["answer", 0, 1],
      );
      rounds += trajectory.rounds;
    }
    assert.ok(rounds > 40);
  });
}
