/** Every baseline once over a real engine: the model of the built-in world, which answers badly, and its library. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { baselineAgent, baselineNames, searchesFor } from "../../apps/baselines/baselines.ts";
import { worldRecipe } from "../../apps/world/recipes/world.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { projectRoot } from "../project.ts";
import { recordedSearch } from "../rollout/doubles.ts";

test("every baseline answers or ends within its steps on a real engine, the same way with the same seed", async () => {
  const folder = join(projectRoot, "world", "checkpoint");
  const tokenizer = await Tokenizer.load(folder);
  const chatTemplate = await ChatTemplate.load(folder);
  await using model = await Model.load(folder);
  await using engine = await Engine.open(model, { tokenizer });
  const { limits } = worldRecipe({ queries: "single" });
  const parts = { engine, tokenizer, chatTemplate, limits: { ...limits, maxResponseTokens: 24 } };
  const documents = [{ title: "Ironroad", text: "Ironroad is a film by Ada Ames." }];
  const question = { id: "a", question: "Who directed Ironroad?", answers: ["Ada Ames"], documents };
  for (const baseline of baselineNames) {
    const agent = baselineAgent(
      { ...parts, search: recordedSearch(), sampling: { temperature: 1 } },
      baseline,
    );
    const [first, again] = await Promise.all([agent(question, { seed: 3 }), agent(question, { seed: 3 })]);
    assert.equal(first.rounds > 0, searchesFor(baseline) && first.queries.length > 0, baseline);
    assert.deepEqual(
      first.segments.map(({ text }) => text),
      again.segments.map(({ text }) => text),
      baseline,
    );
    assert.ok(first.turns > 0 && first.segments.some(({ kind }) => kind === "policy"), baseline);
    assert.equal((await engine.stats()).numSequences, 0);
  }
});
