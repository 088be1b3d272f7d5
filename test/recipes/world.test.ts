/** What the world demonstrates is, token for token, what a rollout shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { worldRecipe } from "../../apps/world/recipes/world.ts";
import { emReward } from "../../lib/reward/reward.ts";
import { replay } from "./small-world.ts";

for (const queries of ["single", "multi"] as const) {
  test(`a ${queries}-query demonstration and its rollout have the same tokens and a right answer`, async () => {
    const recipe = worldRecipe({ queries });
    // The teacher is more patient than the agents: four single queries and an answer are five turns.
    const patient = { ...recipe, limits: { ...recipe.limits, maxTurns: 5 } };
    let rounds = 0;
    for (let i = 0; i < 40; i++) {
      const { asked, trajectory } = await replay(patient, `q${i}`);
      assert.equal(emReward(trajectory, asked), 1);
      rounds += trajectory.rounds;
    }
    assert.ok(rounds > 40);
  });
}
