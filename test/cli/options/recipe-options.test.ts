/** What the command line lets one choose of a recipe. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseRecipe, type RecipeInput } from "../../../apps/cli/options/recipe-options.ts";

const agentic = { name: "agentic-rag-r1" } as const;

test("when an answer of a memory stack counts is chosen by its state value and the least number of actions", () => {
  const memoryOf = (choice: object) => chooseRecipe({ ...agentic, ...choice }).format.memory;
  assert.deepEqual([memoryOf({})?.stateValue, memoryOf({})?.minActions], ["none", 0]);
  const sure = memoryOf({ stateValue: "cppl", sigma: 3, minActions: 2 });
  assert.deepEqual([sure?.stateValue, sure?.sigma, sure?.minActions], ["cppl", 3, 2]);
  assert.equal(memoryOf({ stateValue: "entropy" })?.sigma, 1.2);
  assert.equal(memoryOf({ minActions: 4, worldPrompt: true })?.minActions, 4);
});

test("rules of a memory stack are refused where they say nothing", () => {
  const refused = (choice: RecipeInput, message: RegExp): void =>
    assert.throws(() => chooseRecipe(choice), { name: "UsageError", message });
  refused({ ...agentic, sigma: 1 }, /--recipe: sigma: expected only with stateValue entropy or cppl/);
  refused({ ...agentic, minActions: 1, faithful: true }, /--recipe: minActions: expected without faithful/);
});
