/** The linter as a whole: sound agents of every recipe pass, and what it cannot run is a finding. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lint } from "../../apps/lint/lint.ts";
import type { LintRollout } from "../../apps/lint/subject.ts";
import { writtenSource } from "../../apps/lint/written.ts";
import { withWorldPrompt, worldRecipe } from "../../apps/world/recipes/world.ts";
import { r1Searcher } from "../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import { searchR1 } from "../../lib/recipes/search-r1.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { stackParser, stackTurnEnds } from "../../lib/rollout/grammars/stack-grammar.ts";
import { defaultMemory } from "../../lib/rollout/memory.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";
import { assertFails, subjectOf } from "./world-subject.ts";

const small = { maxResponseTokens: 64, maxObservationTokens: 64, maxTokens: 1024 };

test("the shipped model and the built-in world break no law", async () => {
  const { passed, findings, conversations } = await lint(await subjectOf());
  assert.deepEqual(
    findings.filter(({ status }) => status !== "pass"),
    [],
  );
  assert.ok(passed && findings.length >= 15);
  const written = conversations.find(({ name }) => name === "written");
  assert.deepEqual(
    written?.spans.map(({ isTrained }) => isTrained),
    [false, true, false, true],
  );
  assert.match(written?.spans[1]?.text ?? "", /^<think>.*<\/search>$/s);
});

test("every recipe's turns are known, so that each law is seen to hold in each", async () => {
  const published = [ragR1({ queries: "single" }), searchR1(), reSearch(), r1Searcher({ stage: 2 })];
  const recipes = [...published, reSearch({ faithful: true })];
  for (const recipe of recipes) {
    const limits = { ...recipe.limits, ...small };
    const subject = await subjectOf({ recipe: { ...withWorldPrompt(recipe), limits } });
    const { findings } = await lint(subject);
    assert.deepEqual(
      findings.filter(({ status }) => status !== "pass"),
      [],
    );
  }
});

test("an agent that plans, takes back and sums up breaks no law: each span is held against what was visible", async () => {
  const recipe = worldRecipe({ queries: "multi" });
  const format = {
    ...recipe.format,
    parse: stackParser(),
    turnEnds: stackTurnEnds(),
    memory: defaultMemory,
  };
  const subject = await subjectOf({ recipe: { ...recipe, format } });
  const turns = [
    "<plan> first who, then where </plan>",
    "<search> who </search>",
    "<backtrack> no </backtrack>",
    "<search> where </search>",
    "<summary> there </summary>",
    "<answer> there </answer>",
  ];
  // Three turns of the free conversation, all of the others.
  for (const from of [0, 2]) {
    const written = turns.slice(from).map((text) => ({ text }));
    const engine = writtenSource(subject.parts.engine, subject.tokenizer, written);
    const score = async (sequences: readonly TrainSequence[]) => {
      return sequences.map(({ rows }) => new Float32Array(rows.length));
    };
    const rollout: LintRollout = (parts, question, options) => {
      const { searchTimeoutMs } = parts.limits;
      const limits = { ...subject.parts.limits, searchTimeoutMs };
      return searchAgent({ ...parts, limits }).rollouts(question, options);
    };
    const { findings, conversations } = await lint({
      ...subject,
      parts: { ...subject.parts, engine },
      rollout,
      score,
    });
    const wrong = findings.filter(({ status, law }) => status === "fail" && [1, 2, 3].includes(law ?? 0));
    assert.deepEqual(wrong, []);
    assert.ok(conversations.filter(({ name }) => name === "free").length > 1, "several spans");
  }
});

test("an agent that cannot converse at all is a finding, not a crash", async () => {
  const subject = await subjectOf();
  const rollout: LintRollout = () => Promise.reject(new Error("it broke"));
  await assertFails({ ...subject, rollout }, [[/can be run and scored/, /it broke/]]);
});

test("a linter that is interrupted ends at once and says so", async () => {
  const subject = await subjectOf();
  const stop = new AbortController();
  const linting = lint({ ...subject, signal: stop.signal });
  stop.abort();
  await assert.rejects(linting, { code: "ERR_ABORTED", message: "lint: aborted" });
});
