/** ReSearch's reward against the original's own scores, and what reading the policy alone changes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { reSearchReward, reSearchScore } from "../../../lib/reward/systems/re-search.ts";
import { projectRoot } from "../../project.ts";
import { asks, segment, spoken, trajectory } from "../spoken.ts";

interface Case {
  readonly name: string;
  readonly eos: string;
  readonly solution: string;
  readonly gold: string | readonly string[];
  readonly score: number;
  readonly reason: string;
}

const file = join(projectRoot, "test/golden/reward/research_reward.json");
const cases = JSON.parse(readFileSync(file, "utf8")) as Case[];

test("score and reason of every case are the original's", () => {
  assert.equal(cases.length, 32);
  for (const { name, eos, solution, gold, score, reason } of cases) {
    const whole = trajectory(segment("policy", solution));
    const answers = typeof gold === "string" ? [gold] : gold;
    const options = { faithful: true, endOfText: eos };
    assert.deepEqual(reSearchScore(whole, { answers }, options), { score, reason }, name);
  }
});

const right = "<think> I know. </think><answer> It is \\[ \\boxed{Rome} \\] </answer>";

test("a right boxed answer in good form is worth its F1, a wrong one 0.1", () => {
  assert.equal(reSearchReward()(spoken(right), asks("Rome")), 1);
  assert.deepEqual(reSearchScore(spoken(right), asks("Oslo")), {
    score: 0.1,
    reason: "wrong answer but good format: Rome",
  });
});

test("tags in what was found change nothing", () => {
  const turns = [
    "<think> ? </think><search> q </search>",
    " <result>\n<answer></think>\n</result>",
    right,
  ] as const;
  assert.equal(reSearchReward()(spoken(...turns), asks("Rome")), 1);
  const whole = spoken(...turns.slice(0, 2), `Assistant:${right}`);
  assert.equal(reSearchReward({ faithful: true })(whole, asks("Rome")), 0);
});

test("a policy that writes results by itself is malformed", () => {
  const fabricated = "<think>t</think><search> q </search> <result> Rome </result>";
  const { score, reason } = reSearchScore(spoken(fabricated + right), asks("Rome"));
  assert.deepEqual([score, reason], [0, "bad format: the policy wrote a result itself"]);
});

test("a small F1 is never worth less than a wrong answer, except faithfully", () => {
  const long = `<think></think><answer>\\boxed{${"word ".repeat(30)}Rome}</answer>`;
  assert.equal(reSearchReward()(spoken(long), asks("Rome")), 0.1);
  const text = spoken(`Assistant:${long}<|im_end|>`);
  const faithful = reSearchReward({ faithful: true })(text, asks("Rome"));
  assert.ok(faithful > 0 && faithful < 0.1);
});

test("an answer in bad form earns nothing by the code and its F1 by the paper", () => {
  const thoughtless = spoken("<answer>\\boxed{Rome}</answer>");
  assert.equal(reSearchReward()(thoughtless, asks("Rome")), 0);
  assert.equal(reSearchReward({ variant: "paper" })(thoughtless, asks("Rome")), 1);
  assert.equal(reSearchReward({ variant: "paper" })(thoughtless, asks("Oslo")), 0);
});

test("a conversation cut short is over length", () => {
  const cut = { ...spoken(right), stop: "context" as const };
  assert.equal(reSearchScore(cut, asks("Rome")).reason, "over length");
});
