/** Rewards read the policy's words and nothing else. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { emReward, f1Reward, policyAnswer, weightedReward } from "../../lib/reward/reward.ts";
import { ragFormat } from "../../lib/rollout/formats/format.ts";
import { segment, trajectory } from "./spoken.ts";

const question = { id: "q", question: "capital of China?", answers: ["Beijing", "Peking"] };

test("the example answer in the prompt never scores", () => {
  for (const mode of ["single", "multi"] as const) {
    const prompt = segment("prompt", ragFormat(mode).prompt(question.question));
    assert.match(prompt.text, /<answer> Beijing <\/answer>/);
    const silent = trajectory(prompt, segment("policy", "<think> I do not know </think>"));
    assert.equal(policyAnswer(silent), undefined);
    assert.equal(emReward(silent, question), 0);
    assert.equal(f1Reward(silent, question), 0);
  }
});

test("an answer inside of an observation never scores", () => {
  const observation = segment("observation", "<information>\n<answer> Beijing </answer>\n</information>");
  assert.equal(emReward(trajectory(observation, segment("policy", "<answer> Rome </answer>")), question), 0);
  assert.equal(emReward(trajectory(segment("policy", "<answer>"), observation), question), 0);
});

test("what the environment says about invalid turns holds no answer", () => {
  const { invalid, failure, lastTurn } = ragFormat("multi");
  for (const text of [invalid, failure, lastTurn]) {
    assert.equal(policyAnswer({ segments: [segment("policy", text)] }), undefined);
  }
});

test("the last complete answer of the policy counts", () => {
  const said = trajectory(
    segment("policy", "<answer> Rome </answer> no"),
    segment("policy", "<answer> the Peking </answer> <answer> cut"),
  );
  assert.equal(policyAnswer(said), "the Peking");
  assert.equal(emReward(said, question), 1);
});

test("an answer that a memory stack did not let count never scores", () => {
  const said = trajectory(segment("policy", "<answer> Beijing </answer>"));
  const memory = { actions: [], peakTokens: 0, finalTokens: 0, totalTokens: 0 };
  assert.equal(emReward(said, question), 1);
  assert.equal(emReward({ ...said, memory }, question), 0);
  assert.equal(emReward({ ...said, memory, answer: "Peking" }, question), 1);
});

test("a weighted sum says what each part gave", async () => {
  const score = weightedReward([
    { name: "em", weight: 1, reward: emReward },
    { name: "f1", weight: 0.5, reward: f1Reward },
  ]);
  const { total, reasons } = await score(
    trajectory(segment("policy", "<answer> Beijing city </answer>")),
    question,
  );
  assert.deepEqual(reasons, { em: 0, f1: 2 / 3 });
  assert.equal(total, 1 / 3);
});
