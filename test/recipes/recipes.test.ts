/** Whole conversations of each recipe: what the model reads, what it is asked, what its answer earns. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { worldRecipe } from "../../apps/world/recipes/world.ts";
import { agenticRagR1 } from "../../lib/recipes/agentic-rag-r1.ts";
import { r1Searcher } from "../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import { resizedTraining } from "../../lib/recipes/recipe.ts";
import { searchR1 } from "../../lib/recipes/search-r1.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import type { PromptTemplate } from "../../lib/rollout/seams.ts";
import { characters, recordedSearch, ScriptedSequence } from "../rollout/doubles.ts";

const question = { id: "q", question: "capital of Italy?", answers: ["Rome"] };

const chatTemplate: PromptTemplate = {
  render: (messages) => `${messages.map(({ role, content }) => `[${role}]${content}`).join("")}[assistant]`,
};

async function play({ format, limits, sampling, reward }: Recipe, ...turns: string[]) {
  const sequence = new ScriptedSequence(...turns);
  const engine = { open: () => sequence };
  // One character is one token here, so prompts are long.
  const roomy = { ...limits, maxTokens: 100_000, maxResponseTokens: 10_000, maxObservationTokens: 10_000 };
  const asked: (readonly string[])[] = [];
  const search = recordedSearch(asked);
  const parts = { format, limits: roomy, sampling, engine, tokenizer: characters, chatTemplate, search };
  const [trajectory] = await searchAgent(parts).rollouts(question);
  assert.ok(trajectory);
  const earned = await reward(trajectory, question);
  return { trajectory, asked, earned, prompt: trajectory.segments[0]?.text ?? "", sequence };
}

const rag = ["<think> ? </think><search> Italy </search>", "<think> ! </think><answer> Rome </answer>"];
const boxed = "<think> ! </think><answer> It is \\[ \\boxed{Rome} \\] </answer>";
const searcher = [" ? <|begin_of_query|> Italy <|end_of_query|>", " ! </think><answer> Rome </answer>"];

const scripts: readonly [name: string, recipe: Recipe, turns: readonly string[], earned: number][] = [
  ["rag-r1 single", ragR1({ queries: "single" }), rag, 1],
  ["rag-r1 multi", ragR1({ queries: "multi" }), rag, 1],
  ["rag-r1 faithful", ragR1({ queries: "multi", faithful: true }), rag, 1],
  ["search-r1", searchR1(), rag, 1],
  ["search-r1 with format", searchR1({ algorithm: "grpo", format: true }), rag, 1],
  ["search-r1 faithful", searchR1({ faithful: true }), rag, 1],
  ["research", reSearch(), [rag[0] ?? "", boxed], 1],
  ["research base", reSearch({ template: "base" }), [rag[0] ?? "", boxed], 1],
  [
    "research faithful",
    reSearch({ template: "base", faithful: true }),
    [rag[0] ?? "", `${boxed}<|endoftext|>`],
    1,
  ],
  ["r1-searcher stage 1", r1Searcher({ stage: 1 }), searcher, 1],
  ["r1-searcher stage 2", r1Searcher({ stage: 2 }), searcher, 1],
  ["r1-searcher zero", r1Searcher({ stage: "zero" }), searcher, 1],
  ["r1-searcher faithful", r1Searcher({ stage: 1, faithful: true }), searcher, 2],
  ["world", worldRecipe({ queries: "multi" }), rag, 1],
];

test("a conversation that searches and answers right earns the whole reward in every recipe", async () => {
  for (const [name, recipe, turns, expected] of scripts) {
    const { trajectory, asked, earned } = await play(recipe, ...turns);
    assert.deepEqual(asked, [["Italy"]], name);
    const { stop, answer, rounds, invalidActions } = trajectory;
    assert.deepEqual([stop, answer?.trim(), rounds, invalidActions], ["answer", "Rome", 1, 0], name);
    assert.equal(earned, expected, name);
  }
});

test("a turn without an action is answered and counted by default, and ends the conversation faithfully where it did", async () => {
  const silent = "I do not know.";
  for (const recipe of [ragR1({ queries: "single" }), searchR1(), reSearch(), r1Searcher({ stage: 2 })]) {
    const { trajectory, sequence } = await play(
      { ...recipe, limits: { ...recipe.limits, maxTurns: 2 } },
      silent,
      silent,
    );
    assert.deepEqual([trajectory.invalidActions, trajectory.stop, trajectory.turns], [2, "eos", 2]);
    assert.deepEqual(sequence.appended, [recipe.format.invalid + recipe.format.lastTurn]);
  }
  for (const recipe of [reSearch({ faithful: true }), r1Searcher({ stage: 2, faithful: true })]) {
    const { trajectory } = await play(recipe, silent);
    assert.deepEqual([trajectory.invalidActions, trajectory.stop, trajectory.turns], [0, "eos", 1]);
  }
});

test("instruct prompts go through the chat template, base prompts stand alone, and a thought may be begun", async () => {
  const instruct = (await play(reSearch(), boxed)).prompt;
  assert.match(instruct, /^\[system\]You are a helpful assistant.*\[user\]capital of Italy\?\[assistant\]$/s);
  const base = (await play(reSearch({ template: "base" }), boxed)).prompt;
  assert.match(base, /^The following.* User: capital of Italy\?\. Assistant:$/s);
  assert.ok(!base.includes("{{") && base.includes("\\boxed{the answer}"));
  assert.match(
    (await play(r1Searcher({ stage: 1 }), ...searcher)).prompt,
    /\[user\]capital of Italy\?\[assistant\]<think>$/,
  );
  const zero = (await play(r1Searcher({ stage: "zero" }), ...searcher)).prompt;
  assert.match(zero, /^The User asks.*\n\nUser:capital of Italy\?\nAssistant: <think>$/s);
});

test("nothing in any prompt earns a reward by default", async () => {
  for (const [name, recipe] of scripts) {
    if (name.includes("faithful") || name.includes("stage") || name.includes("zero")) continue;
    const { earned } = await play({ ...recipe, limits: { ...recipe.limits, maxTurns: 1 } }, "I do not know.");
    assert.equal(earned, 0, name);
  }
});

test("R1-Searcher stops after eight searches, and says before the last turn that none is left", async () => {
  const recipe = r1Searcher({ stage: 2 });
  const { trajectory, sequence } = await play(recipe, ...Array.from({ length: 9 }, () => searcher[0] ?? ""));
  assert.deepEqual([trajectory.stop, trajectory.rounds], ["max_turns", 8]);
  assert.ok(sequence.appended.at(-1)?.endsWith(recipe.format.lastTurn));
});

test("each recipe has the published algorithm and sizes", () => {
  const short = ({ algorithm, training }: Recipe) => [
    algorithm.advantage,
    training.samples,
    training.batchQuestions,
  ];
  assert.deepEqual(short(ragR1({ queries: "multi" })), ["gae", 1, 512]);
  assert.deepEqual(short(searchR1()), ["gae", 1, 512]);
  assert.deepEqual(short(searchR1({ algorithm: "grpo" })), ["grpo", 5, 512]);
  assert.deepEqual(short(reSearch()), ["grpo", 5, 256]);
  assert.deepEqual(short(r1Searcher({ stage: 1 })), ["grpo", 16, 15]);
  assert.deepEqual(short(r1Searcher({ stage: 2 })), ["reinforce++-baseline", 16, 65]);
  assert.equal(r1Searcher({ stage: "zero" }).algorithm.kl, undefined);
  const drawn = (faithful: boolean) =>
    [
      ragR1({ queries: "single", faithful }),
      r1Searcher({ stage: 1, faithful }),
      searchR1({ algorithm: "grpo", faithful }),
      searchR1({ algorithm: "ppo", faithful }),
      reSearch({ faithful }),
    ].map(({ sampling }) => sampling.topP);
  assert.deepEqual(
    [drawn(true), drawn(false)],
    [
      [0.95, 0.95, 0.95, 1, 1],
      [1, 1, 1, 1, 1],
    ],
  );
});

test("each recipe has the published rates, distances to the start model, clips and optimiser steps", () => {
  const told = ({ algorithm: { kl, clip, entropyCoef, miniBatches }, training }: Recipe) => [
    ...[training.learningRate, training.warmupSteps, training.criticLearningRate, training.criticWarmupSteps],
    ...[kl && `${kl.in} ${kl.estimator} ${kl.coef}`, clip, entropyCoef, miniBatches],
  ];
  const inReward = "reward k1 0.001";
  const inLoss = "loss k3 0.001";
  const toldOf = (recipe: Recipe, expected: unknown[]): void => assert.deepEqual(told(recipe), expected);
  toldOf(ragR1({ queries: "multi" }), [1e-6, 142, 1e-5, 7, inReward, undefined, 0.001, 4]);
  toldOf(searchR1(), [1e-6, 286, 1e-5, 15, inReward, undefined, 0.001, 2]);
  const grpo = (rate: number) => [rate, 286, 1e-5, 15, inLoss, undefined, 0.001, 2];
  toldOf(searchR1({ algorithm: "grpo" }), grpo(1e-6));
  toldOf(searchR1({ algorithm: "grpo", format: true }), grpo(5e-7));
  toldOf(reSearch(), [1e-6, 0, 1e-5, 0, inLoss, undefined, 0.001, 1]);
  const searcher = (kl: string | undefined) => [2e-6, 0, 1e-5, 0, kl, undefined, undefined, 4];
  toldOf(r1Searcher({ stage: 1 }), searcher("reward k1 0.0001"));
  toldOf(r1Searcher({ stage: 2 }), searcher("reward k1 0.0001"));
  toldOf(r1Searcher({ stage: "zero" }), searcher(undefined));
});

test("faithfully, R1-Searcher has its own second moment and Agentic-RAG-R1 no bound on gradients", () => {
  const own = ({ training: { beta2, maxGradNorm } }: Recipe) => [beta2, maxGradNorm];
  assert.deepEqual(own(r1Searcher({ stage: 2, faithful: true })), [0.95, undefined]);
  assert.deepEqual(own(agenticRagR1({ faithful: true })), [undefined, 0]);
  for (const recipe of [r1Searcher({ stage: 2 }), agenticRagR1()]) {
    assert.deepEqual(own(recipe), [undefined, undefined]);
  }
});

test("ReSearch has ten turns, and faithfully no limit but tokens", () => {
  assert.equal(reSearch().limits.maxTurns, 10);
  const { maxTurns, maxTokens } = reSearch({ faithful: true }).limits;
  assert.deepEqual([maxTurns, maxTokens], [Number.POSITIVE_INFINITY, 512 + 8192]);
});

test("the bonus for few searches is an option of R1-Searcher", () => {
  assert.equal(r1Searcher({ stage: 2 }).groupReward, undefined);
  assert.equal(typeof r1Searcher({ stage: 2, fewSearches: true }).groupReward, "function");
});

test("a warm-up keeps its share of a shorter run unless it is given", () => {
  const { training } = searchR1({ algorithm: "grpo" });
  assert.deepEqual([training.steps, training.warmupSteps], [1005, 286]);
  const short = resizedTraining(training, { steps: 6 });
  // With all 286 steps the rate of the sixth would be a fiftieth of the recipe's.
  assert.deepEqual([short.steps, short.warmupSteps, short.learningRate], [6, 2, training.learningRate]);
  assert.equal(resizedTraining(training, { steps: 6, warmupSteps: 5 }).warmupSteps, 5);
  assert.deepEqual(resizedTraining(training, { steps: undefined }), training);
});
