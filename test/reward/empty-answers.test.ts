/** Answers that say nothing, and accepted answers that normalisation empties. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bleu } from "../../lib/reward/metrics/bleu.ts";
import {
  coverage,
  exactMatch,
  f1,
  patternCoverage,
  patternMatch,
  precision,
  recall,
} from "../../lib/reward/metrics/metrics.ts";
import { rouge } from "../../lib/reward/metrics/rouge.ts";
import { rulesNames, scoreAnswer } from "../../lib/reward/metrics/rules.ts";
import { emReward, f1Reward } from "../../lib/reward/reward.ts";
import {
  agenticAccuracyReward,
  agenticFormatReward,
  agenticFormReward,
  optionReward,
} from "../../lib/reward/systems/agentic-rag.ts";
import { r1SearcherReward } from "../../lib/reward/systems/r1-searcher.ts";
import { reCallReward } from "../../lib/reward/systems/re-call.ts";
import { reSearchReward } from "../../lib/reward/systems/re-search.ts";
import { formatReward } from "../../lib/reward/systems/search-r1.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { dice } from "../dice.ts";
import { asks, spoken } from "./spoken.ts";

const metrics = { exactMatch, coverage, f1, precision, recall, patternMatch, patternCoverage };

/** Every score of an answer, by name. */
function scoresOf(answer: string, gold: string): Record<string, number> {
  const ours = Object.entries(metrics).map(([name, score]) => [name, score(answer, [gold])] as const);
  const rules = rulesNames.flatMap((system) =>
    Object.entries(scoreAnswer(answer, [gold], system)).map(
      ([name, score]) => [`${system} ${name}`, score] as const,
    ),
  );
  return Object.fromEntries([
    ...ours,
    ...rules,
    ...Object.entries(rouge(answer, [gold])),
    ["bleu", bleu([{ answer, accepted: [gold] }])],
  ]);
}

const alphabet = [..." \t\n.,!?-'\"()[]{}<>$%&*+/=@^_`|~\\:;#…—“”’«»¿。、！？・€°©→∞√", "the ", "A ", "an"];
const letters = [
  "a",
  "A",
  "the",
  "The",
  "x",
  "Rome",
  "7",
  "é",
  "語",
  "я",
  "।क",
  "\u0e01",
  ".*x?",
  "\\d*",
  "a|",
];

function textOf(roll: (most: number) => number, pieces: readonly string[], most: number): string {
  return Array.from({ length: roll(most) }, () => pieces[roll(pieces.length)]).join("");
}

test("no answer without letters or digits scores above 0 against an accepted one that has some", () => {
  const roll = dice(5);
  const marks = alphabet.filter((piece) => !/[\p{L}\p{N}]/u.test(piece));
  for (let i = 0; i < 3000; i += 1) {
    const answer = textOf(roll, marks, 6);
    const gold = `${textOf(roll, marks, 4)}${letters[roll(letters.length)]}${textOf(roll, marks, 4)}`;
    for (const [name, score] of Object.entries(scoresOf(answer, gold)))
      assert.equal(score, 0, JSON.stringify({ name, answer, gold }));
  }
});

test("an accepted answer that normalisation empties is matched by itself alone, in lower case", () => {
  const cases = [
    ["A", ["A", "a", " A "], ["", "the", "B", "an", "A man", "banana", "."]],
    ["The", ["the", "THE"], ["", "a", "B", "The Who", "."]],
    ["?!", ["?!", " ?! "], ["", "?", "a", "what?!"]],
    ["the a", ["The A"], ["", "a", "the"]],
  ] as const;
  const matching = Object.entries(metrics).filter(([name]) => !name.startsWith("pattern"));
  for (const [gold, right, wrong] of cases) {
    for (const [name, score] of matching) {
      for (const each of right) assert.equal(score(each, [gold]), 1, `${name}: ${each} is ${gold}`);
      for (const each of wrong) assert.equal(score(each, [gold]), 0, `${name}: ${each} is not ${gold}`);
    }
    for (const system of rulesNames.filter((each) => each !== "curatedtrec")) {
      for (const each of right) assert.equal(scoreAnswer(each, [gold], system).em, 1, `${system}: ${each}`);
      for (const each of wrong) {
        const scores = Object.values(scoreAnswer(each, [gold], system));
        assert.deepEqual(new Set(scores), new Set([0]), `${system}: ${each} is not ${gold}`);
      }
    }
  }
});

test("a pattern that matches nothing but emptiness is met by no answer", () => {
  for (const pattern of ["", " ", "\\d*", "(?:)", "x|"]) {
    for (const answer of ["", "Rome", "?"]) {
      assert.equal(patternCoverage(answer, [pattern]), 0, JSON.stringify({ pattern, answer }));
      assert.equal(scoreAnswer(answer, [pattern], "curatedtrec").acc, 0);
    }
  }
  assert.equal(patternCoverage("in 1969", ["\\d+"]), 1);
});

test("faithful, an empty answer equals an accepted one that normalisation empties", () => {
  const faithful = { faithful: true };
  assert.equal(exactMatch("", ["A"], faithful), 1);
  assert.equal(exactMatch("the", ["A"], faithful), 1);
  assert.equal(coverage("B", ["A"], faithful), 1);
  assert.equal(scoreAnswer("", ["A"], "search-r1", faithful).em, 1);
  const { acc } = scoreAnswer("B", ["A"], "flashrag", faithful);
  assert.equal(acc, 1);
});

/** Well-formed conversations of each system that end with an answer, and what their rewards pay for it. */
function earnings(answer: string, gold: string): Record<string, number> {
  const question = asks(gold);
  const ends = (text: string): Trajectory => ({ ...spoken(text), answer, stop: "answer" });
  const tagged = ends(`<think> I know. </think><answer>${answer}</answer>`);
  const boxed = ends(`<think> I know. </think><answer>\\boxed{${answer}}</answer>`);
  const called = ends(`I know. </think> \\boxed{${answer}}`);
  const closed = ends(`I know.</think><answer>${answer}</answer>`);
  const bare = ends(`<answer>${answer}</answer>`);
  const rewards: Record<string, number> = {
    em: emReward(tagged, question),
    f1: f1Reward(tagged, question),
    "search-r1 format": formatReward()(tagged, question),
    "re-search": reSearchReward()(boxed, question),
    "re-search paper": reSearchReward({ variant: "paper" })(boxed, question),
    "re-call": reCallReward()(called, question),
    "agentic accuracy": agenticAccuracyReward(bare, question),
    "agentic table": agenticFormatReward(bare),
    "agentic form": agenticFormReward(bare),
    "agentic option": optionReward(bare, question),
  };
  for (const stage of [1, 2, "zero"] as const) {
    rewards[`r1-searcher ${stage}`] = r1SearcherReward({ stage })(closed, question);
    rewards[`r1-searcher code ${stage}`] = r1SearcherReward({ stage, variant: "code" })(closed, question);
  }
  return rewards;
}

test("no reward pays for an answer without letters or digits, however well formed", () => {
  for (const answer of ["", " ", ".", "?!", "--"]) {
    for (const gold of ["A", "Rome", "7"]) {
      for (const [name, reward] of Object.entries(earnings(answer, gold)))
        assert.ok(reward <= 0, `${name} pays ${reward} for ${JSON.stringify(answer)}, accepted is ${gold}`);
    }
  }
  // What is said is paid: right in full, wrong for its form where the system has such points.
  for (const [name, reward] of Object.entries(earnings("Rome", "Rome"))) assert.ok(reward > 0, name);
  assert.ok((earnings("Oslo", "Rome")["re-search"] ?? 0) > 0);
  assert.equal(earnings("A", "A").em, 1);
});
