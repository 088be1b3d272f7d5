/** A small world, its search and its tokenizer, and demonstrations replayed in it by a scripted policy. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Library } from "../../apps/world/library.ts";
import { drawCast, inventFacts } from "../../apps/world/story/facts.ts";
import { writePassages } from "../../apps/world/story/passages.ts";
import { askQuestion, type WorldQuestion } from "../../apps/world/story/questions.ts";
import type { Speech } from "../../apps/world/teachers/speech.ts";
import { demonstrate, kCarefulHabits } from "../../apps/world/teachers/teacher.ts";
import { writeWorldTokenizer } from "../../apps/world/tokenizer-files.ts";
import { Dice } from "../../lib/base/random.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { ScriptedSequence } from "../rollout/doubles.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
await writeWorldTokenizer(folder);
/** The world's. */
export const tokenizer = await Tokenizer.load(folder);
const chatTemplate = await ChatTemplate.load(folder);
await rm(folder, { recursive: true });

const dice = new Dice(5, 0);
const facts = inventFacts(dice, drawCast(dice, { person: 24, city: 16, country: 8, company: 8, work: 12 }));
const library = new Library(writePassages(dice, facts));
const search = async (queries: readonly string[], { topK }: { topK: number }) => {
  return queries.map((query) => library.search(query, topK).map((passage) => ({ ...passage, score: 1 })));
};

/** What was replayed. */
export interface Replayed {
  readonly asked: WorldQuestion;
  readonly trajectory: Trajectory;
  /** The policy's words. */
  readonly said: string;
}

/**
 * The policy says what the teacher said, the environment answers by itself: both must have the same tokens, an answer
 * and no turn without an action.
 */
export async function replay(
  { format, limits, sampling }: Recipe,
  id: string,
  speech?: Speech,
): Promise<Replayed> {
  const asked = askQuestion(dice, facts, id);
  const shown = demonstrate(dice, { facts, library }, asked, {
    ...{ mode: format.mode, topK: limits.topK, habits: kCarefulHabits, varied: false },
    speech,
  });
  const policy = shown.filter(({ kind }) => kind === "policy");
  const turns = policy.map(({ text }) => ({ ids: tokenizer.encode(text), stop: "stop" as const }));
  const engine = { open: () => new ScriptedSequence(...turns) };
  const parts = { format, limits, sampling, tokenizer, chatTemplate, search, engine };
  const [trajectory] = await searchAgent(parts).rollouts(asked);
  assert.ok(trajectory);
  assert.deepEqual(
    trajectory.segments.map(({ kind, text, tokens }) => ({ kind, text, tokens })),
    shown.map(({ kind, text }) => ({ kind, text, tokens: tokenizer.encode(text) })),
  );
  assert.deepEqual([trajectory.stop, trajectory.invalidActions], ["answer", 0]);
  return { asked, trajectory, said: policy.map(({ text }) => text).join("\n") };
}
