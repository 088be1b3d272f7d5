/** What an agent is made of, asked for and told by its function is checked where it enters. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { baselineAgent } from "../../../apps/baselines/baselines.ts";
import { type AgentFunction, ownAgent } from "../../../lib/rollout/agents/agent.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import type { RolloutParts } from "../../../lib/rollout/session/rollout.ts";
import { characters, ScriptedSequence } from "../doubles.ts";

const parts: RolloutParts = { engine: { open: () => new ScriptedSequence("") }, tokenizer: characters };
const question = { question: "who?" };
const silent: AgentFunction = async () => undefined;
const refusal = (message: RegExp, code = "ERR_ARGUMENT") => ({ code, message });

test("an agent refuses parts that it does not know, lacks or cannot use", () => {
  const made = (change: object) => () => ownAgent({ ...parts, ...change }, silent);
  assert.throws(made({ serach: () => [] }), refusal(/agent: unknown key "serach"; did you mean "search"/));
  assert.throws(made({ engine: undefined }), refusal(/agent: engine: expected an object, got undefined/));
  assert.throws(made({ search: "bm25" }), refusal(/agent: search: expected a function, got "bm25"/));
  for (const limits of [
    { maxTokens: Number.NaN },
    { maxTurns: -1 },
    { topK: 1.5 },
    { searchTimeoutMs: 2 ** 31 },
  ])
    assert.throws(made({ limits }), refusal(/agent: limits: /, "ERR_RANGE"));
  assert.throws(made({ sampling: { temperature: -1 } }), refusal(/sampling: temperature/, "ERR_RANGE"));
  assert.throws(() => searchAgent(parts as never), refusal(/searchAgent: format: expected an object/));
  assert.throws(
    () => baselineAgent(parts, "ragg" as never),
    refusal(/baselineAgent: baseline: expected "direct"/),
  );
});

test("a group has a whole number of samples", async () => {
  const agent = ownAgent(parts, silent);
  for (const samples of [0, -1, 1.5, Number.NaN])
    await assert.rejects(agent.rollouts(question, { samples }), refusal(/samples: /, "ERR_RANGE"));
  await assert.rejects(agent(question, { seed: 0.5 }), refusal(/seed: /, "ERR_RANGE"));
});

test("an agent's function returns a text, an outcome or nothing", async () => {
  const told = (outcome: unknown) => ownAgent(parts, async () => outcome as never)(question);
  const wrong = [5, null, ["text"], { answer: 5 }, { stop: "tired" }, { anwser: "x" }];
  for (const outcome of wrong)
    await assert.rejects(told(outcome), refusal(/agent: what its function returns: /));
  assert.equal((await told("x")).answer, "x");
  assert.equal((await told({ stop: "context" })).stop, "context");
});
