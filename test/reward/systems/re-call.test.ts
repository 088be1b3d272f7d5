/** The reward of ReCall. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { reCallScore } from "../../../lib/reward/systems/re-call.ts";
import type { ReSearchRewardOptions } from "../../../lib/reward/systems/re-search.ts";
import type { Segment, StopReason } from "../../../lib/rollout/trajectory.ts";

const say = (text: string, kind: Segment["kind"] = "policy"): Segment => ({
  kind,
  text,
  tokens: new Int32Array(1),
});
const call = '</think><tool_call>{"name": "a", "arguments": {}}</tool_call><|im_end|>';
const answers = ["New York"];

function score(turns: readonly string[], options: ReSearchRewardOptions = {}, stop: StopReason = "answer") {
  const segments = turns.flatMap((turn) => [say("\\boxed{New York} </think>", "observation"), say(turn)]);
  return reCallScore({ segments, stop }, { answers }, options);
}

test("a well-formed conversation earns the F1 of its last box, and 0.1 at least", () => {
  assert.equal(score([call, "</think> \\boxed{New York}<|im_end|>"]).score, 1);
  assert.equal(score(["</think> \\boxed{New York City}<|im_end|>"]).score, 0.8);
  assert.deepEqual(score(["</think> \\boxed{Rome}<|im_end|>"]), {
    score: 0.1,
    reason: "wrong answer but good format: Rome",
  });
});

test("a malformed conversation earns nothing, or in the paper's variant its F1", () => {
  const box = "</think> \\boxed{New York}<|im_end|>";
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["no end of thought \\boxed{New York}<|im_end|>"], /<think> <\/think> not paired/],
    [["</think></think> \\boxed{New York}<|im_end|>"], /<think> <\/think> not paired/],
    [["</think><tool_call>{}<|im_end|>", box], /<tool_call> <\/tool_call> not paired/],
    [["</think><tool_call>{</tool_call><|im_end|>", box], /a call is malformed: expected JSON/],
    [['</think><tool_call>{"arguments": {}}</tool_call>', box], /a call is malformed: name/],
    [["</think> New York<|im_end|>"], /missing \\boxed/],
    [["</think> \\boxed{New York<|im_end|>"], /no boxed answer/],
  ];
  for (const [turns, reason] of cases) {
    const { score: earned, reason: why } = score(turns);
    assert.equal(earned, 0);
    assert.match(why, reason);
  }
  assert.equal(score([cases[0]?.[0][0] ?? ""], { variant: "paper" }).score, 1);
  assert.equal(score(["</think> New York"], { variant: "paper" }).score, 0);
});

test("a call without arguments is well formed, except faithfully", () => {
  const turns = [
    '</think><tool_call>{"name": "a"}</tool_call><|im_end|>',
    "</think> \\boxed{New York}<|im_end|>",
  ];
  assert.equal(score(turns).score, 1);
  assert.deepEqual(score(turns, { faithful: true }), {
    score: 0,
    reason: "bad format: a call has no arguments",
  });
});

test("what ends a conversation too early earns nothing: by its stop, or as the original by its last token", () => {
  const box = "</think> \\boxed{New York}";
  assert.equal(score([box], {}, "max_turns").reason, "over length");
  assert.equal(score([box]).score, 1);
  assert.equal(score([box], { faithful: true }).reason, "over length");
  assert.equal(score([`${box}<|im_end|>`], { faithful: true }, "max_turns").score, 1);
});

test("a box in a thought, a prompt or a tool's words is no answer", () => {
  assert.equal(score(["\\boxed{New York}</think> \\box<|im_end|>"]).reason, "no boxed answer");
  const segments = [
    say("\\boxed{New York}", "prompt"),
    say("</think> no<|im_end|>"),
    say("\\boxed{New York}", "observation"),
  ];
  assert.equal(reCallScore({ segments, stop: "eos" }, { answers }).score, 0);
});

test("the original leaves an F1 below 0.1 where it is", () => {
  const long = `</think> \\boxed{${"many other words here ".repeat(20)} York}<|im_end|>`;
  const faithful = score([long], { faithful: true }).score;
  assert.ok(faithful > 0 && faithful < 0.1);
  assert.equal(score([long]).score, 0.1);
});
