/** Agentic-RAG-R1 as a recipe: its published settings, its rewards with reasons, whole conversations. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { agenticRagR1, agenticRewardParts } from "../../lib/recipes/agentic-rag-r1.ts";
import { type Recipe, recipeTotalReward } from "../../lib/recipes/recipe.ts";
import { weightedReward } from "../../lib/reward/reward.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { asks, segment, trajectory } from "../reward/spoken.ts";
import { characters, ForgetfulSequence, recordedSearch } from "../rollout/doubles.ts";

const question = { id: "q", question: "capital of Italy?", answers: ["Rome"] };

async function play({ format, limits, sampling }: Recipe, ...turns: string[]) {
  const roomy = { ...limits, maxTokens: 100_000, maxResponseTokens: 10_000, maxObservationTokens: 10_000 };
  const asked: (readonly string[])[] = [];
  const engine = {
    open: (ids: Int32Array) => {
      const sequence = new ForgetfulSequence(characters.decode(ids), ...turns);
      return Object.assign(sequence, { fork: () => assert.fail("one sample"), close: () => {} });
    },
  };
  const search = recordedSearch(asked);
  const parts = { format, limits: roomy, sampling, engine, tokenizer: characters, search };
  const [played] = await searchAgent(parts).rollouts(question);
  assert.ok(played);
  return { played, asked };
}

test("the published settings are the defaults", () => {
  const { algorithm, training, sampling } = agenticRagR1();
  assert.deepEqual(algorithm, {
    advantage: "grpo",
    clip: { low: 0.1, high: 0.15 },
    kl: { in: "loss", estimator: "k3", coef: 0.04 },
    aggregation: "sequence-mean",
    epochs: 2,
    tokenRewards: undefined,
  });
  const { steps, samples, learningRate, warmupSteps, decay } = training;
  assert.deepEqual(
    [steps, samples, learningRate, warmupSteps, decay, sampling.temperature],
    [300, 4, 5e-6, 0, "constant", 0.7],
  );
  const faithful = agenticRagR1({ faithful: true });
  assert.equal(faithful.algorithm.tokenRewards, "ratio");
  assert.deepEqual([faithful.limits.maxTurns, faithful.limits.maxResponseTokens], [8, 500]);
  assert.equal(faithful.format.memory, undefined);
});

const turns = [
  "<plan> the capital </plan>",
  "<search> [Wiki_RAG] Italy </search>",
  "<backtrack> too vague </backtrack>",
  "<search> [Wiki_RAG] capital of Italy\n[Wiki_RAG] Rome </search>",
  "<summary> Rome is the capital </summary>",
  "<answer> Rome </answer>",
];

test("a conversation with every action earns the whole reward, and its searches ask in parallel", async () => {
  const recipe = agenticRagR1();
  const { played, asked } = await play(recipe, ...turns);
  assert.deepEqual(asked, [["Italy"], ["capital of Italy", "Rome"]]);
  assert.deepEqual([played.stop, played.answer, played.invalidActions], ["answer", "Rome", 0]);
  assert.deepEqual(
    played.memory?.actions.map(({ kind, popped }) => [kind, popped]),
    [
      ["plan", 0],
      ["search", 0],
      ["backtrack", 1],
      ["search", 0],
      ["summary", 2],
      ["answer", 0],
    ],
  );
  assert.equal(await recipe.reward(played, question), 4);
  const whole = await recipeTotalReward(recipe, characters)(played, question);
  assert.ok(whole !== undefined && Math.abs(whole - 4) < 1e-12);
});

test("with self-search the policy answers its own searches, and nobody is asked", async () => {
  const own = "<search> Italy </search>\n<observation> its capital is Rome </observation>";
  const { played, asked } = await play(agenticRagR1({ selfSearch: true }), own, "<answer> Rome </answer>");
  assert.deepEqual(asked, []);
  assert.deepEqual([played.answer, played.rounds, played.invalidActions], ["Rome", 1, 0]);
  assert.ok(played.segments.every(({ kind }) => kind !== "observation"));
});

test("faithfully nothing is forgotten, and a turn without search or answer is the last", async () => {
  const recipe = agenticRagR1({ faithful: true });
  const first = "<reasoning> r </reasoning><search>[Wiki_RAG]: Italy</search>";
  const { played, asked } = await play(recipe, first, "<backtrack> b </backtrack><answer> Rome </answer>");
  assert.deepEqual(asked, [["Italy"]]);
  assert.deepEqual([played.stop, played.answer, played.memory], ["answer", "Rome", undefined]);
  assert.ok(played.segments.every(({ visible }) => visible === undefined));
  assert.equal((await play(recipe, "I give up.")).played.stop, "eos");
});

test("the parts of the reward say what each gave, and one that gives no number is named", async () => {
  const said = trajectory(
    segment("policy", "<backtrack> b </backtrack>"),
    segment("policy", "<answer> Rome </answer>"),
  );
  const scored = await weightedReward(agenticRewardParts({ relevance: () => 2 }))(said, asks("Rome"));
  assert.deepEqual(scored, { total: 3 + 0.7 + 2, reasons: { accuracy: 1, form: 0.7, relevance: 2 } });
  const points = await weightedReward(agenticRewardParts({ form: "points" }))(said, asks("Rome"));
  assert.deepEqual(points, { total: 3 + 0.8, reasons: { accuracy: 1, form: 0.8 } });
  const { reward } = agenticRagR1({ relevance: () => Number.NaN });
  await assert.rejects(async () => reward(said, asks("Rome")), {
    message: "relevance: expected a finite number, got NaN",
  });
});

test("an answer is compared by what was chosen", async () => {
  const said = trajectory(segment("policy", "<answer> new York </answer>"));
  const earned = async (accuracy: "em" | "f1" | "option", ...answers: string[]) =>
    (await weightedReward(agenticRewardParts({ accuracy }))(said, asks(...answers))).reasons.accuracy;
  assert.equal(await earned("em", "York"), 0);
  assert.equal(await earned("f1", "York"), 2 / 3);
  assert.equal(await earned("option", "New York", "C. New York"), 1);
  assert.equal(await agenticRagR1({ accuracy: () => 0.5 }).reward(said, asks("x")), 2.5);
  assert.equal(await agenticRagR1({ tokenLevel: false }).reward(said, asks("new york")), 4);
});
