/** Whatever the actions, frames and sequence are those of the specification's table. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterAction,
  type Frame,
  type FrameKind,
  visibleSegments,
} from "../../../lib/rollout/stack/frames.ts";
import { dice } from "../../dice.ts";
import { ForgetfulSequence } from "../doubles.ts";
import { answer, format, play } from "./play.ts";

// The table of the specification, played on a list of texts with nothing of the code under test.
class Model {
  stack: { kind: string; text: string }[] = [];

  get text(): string {
    return `Q${this.stack.map(({ text }) => text).join("")}`;
  }

  take(kind: string, text: string): void {
    const { stack } = this;
    const top = stack.at(-1)?.kind;
    if (kind === "plan") {
      this.stack = [{ kind, text }, ...stack.filter((frame) => frame.kind !== "plan")];
      return;
    }
    if (kind === "backtrack" && top !== undefined && top !== "plan") stack.pop();
    if (kind === "summary" && top === "summary") stack.pop();
    else
      while (kind === "summary" && !["plan", "summary", undefined].includes(stack.at(-1)?.kind)) stack.pop();
    stack.push({ kind, text });
  }
}

test("whatever the actions, the sequence holds just the prompt and the frames of the stack", async () => {
  const roll = dice(3);
  for (let round = 0; round < 300; round += 1) {
    const kinds = Array.from({ length: 1 + roll(25) }, () => {
      return ["plan", "reasoning", "search", "backtrack", "summary", "answer", "none"][roll(7)]!;
    });
    const turns = kinds.map((kind, i) => (kind === "none" ? `${i}` : `<${kind}> ${i} </${kind}>`));
    const model = new Model();
    const expected = kinds.map((kind, i) => {
      const view = model.text;
      const replies: Record<string, string> = {
        search: format.observation([`${i}`], [[{ title: `${i}`, text: `about ${i}` }]], (text) => text),
        answer: "NO",
        none: format.invalid,
      };
      model.take(kind, turns[i]! + (replies[kind] ?? ""));
      return view;
    });
    const sequence = new ForgetfulSequence("Q", ...turns, answer);
    const limits = { maxTurns: kinds.length + 2 };
    const { segments, memory } = await play(sequence, {
      memory: { minActions: kinds.length },
      limits: { ...limits, maxTokens: 1e6 },
    });
    assert.deepEqual(sequence.seen, [...expected, model.text]);
    // The record says the same: what was visible to each turn is what the sequence held.
    const policy = segments.flatMap((segment, i) => (segment.kind === "policy" ? [{ segment, i }] : []));
    for (const [turn, { segment, i }] of policy.entries()) {
      const visible = segment.visible ?? Array.from({ length: i }, (_, j) => j);
      assert.equal(visible.map((j) => segments[j]!.text).join(""), sequence.seen[turn]);
    }
    assert.equal(memory?.actions.length, turns.length + 1);
  }
});

test("the frames after an action end with it, unless it is a plan, and hold every other frame once", () => {
  const roll = dice(9);
  const kinds: FrameKind[] = ["plan", "reasoning", "search", "backtrack", "summary", "invalid"];
  for (const condenses of ["all", "previous"] as const) {
    let frames: readonly Frame[] = [];
    for (let i = 1; i < 500; i += 1) {
      const frame = { kind: kinds[roll(kinds.length)]!, segments: [2 * i, 2 * i + 1] };
      const before = new Set(frames);
      frames = afterAction(frames, frame, condenses);
      assert.equal(frame.kind === "plan" ? frames[0] : frames.at(-1), frame);
      assert.ok(frames.every((each) => each === frame || before.has(each)));
      assert.ok(frames.filter(({ kind }) => kind === "plan").length <= 1);
      const visible = visibleSegments(frames);
      assert.equal(new Set(visible).size, visible.length);
    }
  }
});
