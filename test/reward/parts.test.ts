/** Rewards that are parts of a sum: form, length, repetition, and the bonus within a group. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fewSearchesBonus } from "../../lib/reward/group.ts";
import { overlongPenalty, repetitionPenalty } from "../../lib/reward/penalties.ts";
import { agenticAccuracyReward, agenticFormatReward } from "../../lib/reward/systems/agentic-rag.ts";
import { asks, segment, spoken, trajectory } from "./spoken.ts";

const search = "<search>[Wiki_RAG]: q</search>";

test("Agentic-RAG-R1's points for form are the sum of its table", () => {
  const all = "<reasoning>r</reasoning><backtrack>b</backtrack><summary>s</summary>";
  const rows: [number, string][] = [
    [2.2, `${all}${search.repeat(3)}<answer>a</answer>`],
    [1.6, `${all}<answer>a</answer>`],
    [0.4, "<answer>a</answer>"],
    [0, "<answer>a</answer><answer>b</answer>"],
    [0, "<answer><answer>a</answer>"],
    [0.6, search.repeat(3)],
    [-0.2, search.repeat(4)],
    [-0.8, search.repeat(7)],
    [0.2, "<reasoning>"],
  ];
  for (const [points, text] of rows) assert.equal(agenticFormatReward(spoken(text)), points, text);
});

test("tags of prompt and observations earn nothing", () => {
  const prompt = segment("prompt", "<reasoning></reasoning><answer></answer>");
  const found = segment("observation", "<observation><summary></summary></observation>");
  assert.equal(agenticFormatReward(trajectory(prompt, found)), 0);
});

test("a right answer is worth three points", () => {
  assert.equal(agenticAccuracyReward(spoken("<answer> Rome </answer>"), asks("Rome")), 3);
  assert.equal(agenticAccuracyReward(spoken("<answer> Oslo </answer>"), asks("Rome")), 0);
  assert.equal(agenticAccuracyReward(spoken("Rome"), asks("Rome")), 0);
});

test("the penalty for length falls in a line over the buffer and counts the policy's tokens", () => {
  const penalty = overlongPenalty({ maxTokens: 100, buffer: 50 });
  const of = (length: number): number => penalty(spoken("x".repeat(length), "y".repeat(1000)));
  assert.deepEqual([of(10), of(50), of(75), of(100), of(300)], [0, 0, -0.5, -1, -1]);
});

test("repeated n-grams of the policy's tokens are penalised within a turn", () => {
  const penalty = repetitionPenalty({ n: 2 });
  assert.equal(penalty(spoken("abcdef", "ababab", "abcdef")), 0);
  assert.equal(penalty(spoken("ababababa")), -0.75);
  assert.equal(penalty(spoken("a")), 0);
});

function group(...members: [rounds: number, reward: number][]) {
  return members.map(([rounds, reward]) => ({ trajectory: { ...spoken(""), rounds }, reward }));
}

test("of the right rollouts those with the fewest searches get a bonus that grows with the spread", () => {
  const bonus = fewSearchesBonus();
  assert.deepEqual(bonus(group([1, 1], [2, 1], [1, 1], [0, 0]), asks()), [4 / 9, 0, 4 / 9, 0]);
  assert.deepEqual(bonus(group([0, 1], [8, 1]), asks()), [2, 0]);
});

test("without a spread, or without a right rollout, there is no bonus", () => {
  assert.deepEqual(fewSearchesBonus()(group([2, 1], [2, 1]), asks()), [0, 0]);
  assert.deepEqual(fewSearchesBonus()(group([0, 0], [4, 0]), asks()), [0, 0]);
});
