/** Every reward, and the pieces of which conversations are put together at random. */
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
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { asks } from "./spoken.ts";

type Fuzzed = readonly [name: string, score: (each: Trajectory) => number, least: number, most: number];
export const question = asks("Rome", "a", "");
export const rewards: readonly Fuzzed[] = [
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

export const pieces = [
  ..."<think> </think> <search> </search> <result> </result> <answer> </answer> <information> </information>".split(
    " ",
  ),
  ..."<reasoning> <backtrack> <|begin_of_query|> <|end_of_query|> <|begin_of_documents|> <|end_of_documents|>".split(
    " ",
  ),
  ..."\\boxed{ \\boxed } { $ Rome a 之 assistant Assistant: <|im_end|> <|im_start|>assistant".split(" "),
  ...[" ", "\n", "\n\n", "(1)", "\ud800", "\u0000"],
];
