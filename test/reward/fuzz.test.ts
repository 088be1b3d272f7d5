/** Every reward on any conversation: a number within its bounds, in time linear in the text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerRules, type RulesName, scoreAnswer } from "../../lib/reward/metrics/rules.ts";
import { overlongPenalty, repetitionPenalty } from "../../lib/reward/penalties.ts";
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
import { formatReward, retrievalReward, wholeTextEmReward } from "../../lib/reward/systems/search-r1.ts";
import { questionFinder, trajectoryOfText } from "../../lib/reward/text-trajectory.ts";
import type { Segment, Trajectory } from "../../lib/rollout/trajectory.ts";
import { dice } from "../dice.ts";
import { processorMs } from "../processor-time.ts";
import { asks, segment, trajectory } from "./spoken.ts";

type Fuzzed = readonly [name: string, score: (each: Trajectory) => number, least: number, most: number];
const question = asks("Rome", "a", "");
const rewards: readonly Fuzzed[] = [
  ["em", (each) => emReward(each, question), 0, 1],
  ["f1", (each) => f1Reward(each, question), 0, 1],
  ["whole-text em", (each) => wholeTextEmReward(each, question), 0, 1],
  ["retrieval", (each) => retrievalReward(each, question), 0, 1],
  ...[false, true].flatMap((faithful): Fuzzed[] => [
    [`format ${faithful}`, (each) => formatReward({ faithful })(each, question), 0, 1],
    [`research ${faithful}`, (each) => reSearchReward({ faithful })(each, question), 0, 1],
    [
      `stage 1 ${faithful}`,
      (each) => r1SearcherReward({ stage: 1, variant: "code", faithful })(each, question),
      -1,
      2,
    ],
    [
      `zero ${faithful}`,
      (each) => r1SearcherReward({ stage: "zero", variant: "code", faithful })(each, question),
      -2,
      1,
    ],
  ]),
  ["research paper", (each) => reSearchReward({ variant: "paper" })(each, question), 0, 1],
  ["recall", (each) => reCallReward({ variant: "paper" })(each, question), 0, 1],
  ["agentic points", agenticFormatReward, Number.NEGATIVE_INFINITY, 2.2],
  ["agentic form", agenticFormReward, 0, 1],
  ["agentic option", (each) => optionReward(each, question), 0, 1],
  ["agentic accuracy", (each) => agenticAccuracyReward(each, question), 0, 3],
  ["overlong", overlongPenalty({ maxTokens: 50 }), -1, 0],
  ["repetition", repetitionPenalty(), -1, 0],
];

const pieces = [
  ..."<think> </think> <search> </search> <result> </result> <answer> </answer> <information> </information>".split(
    " ",
  ),
  ..."<reasoning> <backtrack> <|begin_of_query|> <|end_of_query|> <|begin_of_documents|> <|end_of_documents|>".split(
    " ",
  ),
  ..."\\boxed{ \\boxed } { $ Rome a 之 assistant Assistant: <|im_end|> <|im_start|>assistant".split(" "),
  ...[" ", "\n", "\n\n", "(1)", "\ud800", "\u0000"],
];

test("every reward of any conversation is a number within its bounds", () => {
  const roll = dice(9);
  const kinds: readonly Segment["kind"][] = ["prompt", "policy", "observation"];
  for (let i = 0; i < 4000; i++) {
    const segments = Array.from({ length: 1 + roll(4) }, () => {
      const text = Array.from({ length: roll(12) }, () => pieces[roll(pieces.length)]).join("");
      return segment(kinds[roll(3)] ?? "policy", text);
    });
    for (const [name, score, least, most] of rewards) {
      const value = score(trajectory(...segments));
      const isWithin = value >= least && value <= most + 1e-12;
      assert.ok(
        isWithin,
        `${name}: ${value} for ${JSON.stringify(segments.map(({ kind, text }) => [kind, text]))}`,
      );
    }
  }
});

test("every reward and every rule reads a text in time linear in its length", () => {
  for (const piece of pieces) {
    const text = piece.repeat(Math.ceil(100_000 / piece.length));
    const each = trajectory(segment("prompt", text), segment("policy", text), segment("observation", text));
    for (const [name, score] of rewards) {
      const spent = processorMs(() => score(each));
      assert.ok(spent < 1500, `${name}: ${JSON.stringify(piece)} took ${spent} ms`);
    }
    for (const name of Object.keys(answerRules) as RulesName[]) {
      // Where accepted answers are patterns, they are the data set's and short.
      const accepted = name === "curatedtrec" ? ["Rome"] : [text, "Rome"];
      const spent = processorMs(() => scoreAnswer(text, accepted, name));
      assert.ok(spent < 1500, `${name}: ${JSON.stringify(piece)} took ${spent} ms`);
    }
  }
});

test("the question of any text is looked for in time linear in its length", () => {
  const find = questionFinder([question]);
  const marks = [
    "User:",
    "Question:",
    "<query>",
    "<|im_start|>user\n",
    "<|im_start|>assistant",
    "Assistant:",
  ];
  for (const piece of [...pieces, ...marks]) {
    const text = `User:${piece.repeat(Math.ceil(100_000 / piece.length))}`;
    const spent = processorMs(() => {
      find(text);
      for (const family of ["rag", "research", "agentic", "r1-searcher"] as const)
        trajectoryOfText(text, family);
    });
    assert.ok(spent < 1500, `${JSON.stringify(piece)} took ${spent} ms`);
  }
});
