/** What ranks tell each other of rollouts: all numbers to all, words to the first. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serialize } from "node:v8";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { rolloutTelling } from "../../../lib/train/roles/told-rollouts.ts";
import type { SampledRollout } from "../../../lib/train/step-rollouts.ts";
import { localWorld, questions, recipe } from "../../connectors/workers/served-worker.ts";

const question = { id: "q", question: "who?", answers: ["x"] };

/** One with everything that a rollout may have, and one with nothing that it may lack. */
const full: Trajectory = {
  ...{ id: "q#0", questionId: "q", turns: 2, stop: "answer", answer: "x", rounds: 1, queries: [["a", "b"]] },
  segments: [
    { kind: "prompt", tokens: Int32Array.of(1, 2), text: "who?" },
    {
      ...{
        kind: "policy",
        tokens: Int32Array.of(3, 4),
        logprobs: Float32Array.of(-0.5, -0.25),
        text: "a search",
      },
      versionRuns: [
        { weightsVersion: 3, numTokens: 1 },
        { weightsVersion: 4, numTokens: 1 },
      ],
    },
    { kind: "observation", tokens: Int32Array.of(5), text: "found" },
    {
      ...{
        kind: "policy",
        tokens: new Int32Array(0),
        logprobs: new Float32Array(0),
        text: "",
        visible: [0, 2],
      },
      versionRuns: [],
    },
  ],
  found: [[[{ id: "p", title: "t", score: 1 }]]],
  ...{ invalidActions: 0, droppedQueries: 1, failures: 1, failureReasons: ["late"], weightsVersion: 3 },
  timings: { generateMs: 1, searchMs: 2, totalMs: 3 },
  ...{ worker: "host:1", moves: 1 },
};
const bare: Trajectory = {
  ...{ id: "q#1", questionId: "q", segments: [], turns: 0, stop: "eos", rounds: 0, queries: [] },
  ...{ invalidActions: 0, failures: 0, weightsVersion: 1 },
  timings: { generateMs: 0, searchMs: 0, totalMs: 0 },
};
const rollouts: SampledRollout[] = [
  { question, trajectory: full, group: 2, reward: 1, tokenRewards: [0.5, 1], baseline: 0.25 },
  { question, trajectory: bare, group: 2, failure: "no server" },
];

const telling = rolloutTelling([question]);
const passed = <Value>(value: Value): Value => structuredClone(value);

test("the first rank knows of another's rollouts all that the other does", () => {
  assert.deepEqual(telling.join(passed(telling.split(rollouts)), 0), rollouts);
});

test("the others know the numbers, and no word", () => {
  const { all } = telling.split(rollouts);
  const [numbers, none] = telling.join({ all: passed(all) }, 0);
  const { answer: _, found: __, failureReasons: ___, ...counts } = full;
  const segments = full.segments.map((segment) => ({ ...segment, text: "" }));
  assert.deepEqual(numbers, { ...rollouts[0], trajectory: { ...counts, queries: [], segments } });
  assert.deepEqual([none!.reward, none!.failure], [undefined, undefined]);
});

test("of rollouts in the built-in world the others are told less than half", async (t) => {
  const { agent, engine } = await localWorld(t);
  const asked = questions.slice(0, 4);
  const made = await Promise.all(
    asked.map(async (one, group) => {
      const trajectories = await agent(engine).rollouts(one, { samples: 4, seed: 1 });
      return trajectories.map(
        (trajectory): SampledRollout => ({ question: one, trajectory, group, reward: 0 }),
      );
    }),
  );
  assert.ok(recipe.limits.maxTurns > 1);
  const { split } = rolloutTelling(asked);
  const bytes = (value: unknown): number => serialize(value).length;
  const tokens = made
    .flat()
    .flatMap(({ trajectory }) => trajectory.segments)
    .reduce((sum, one) => sum + one.tokens.length, 0);
  const sizes = {
    whole: bytes(made),
    all: bytes(made.map((each) => split(each).all)),
    first: bytes(made.map((each) => split(each).first)),
  };
  t.diagnostic(JSON.stringify({ ...sizes, tokens, rollouts: made.flat().length }));
  assert.ok(sizes.all < sizes.whole / 2, JSON.stringify(sizes));
});
