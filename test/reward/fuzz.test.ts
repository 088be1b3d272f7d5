/** Every reward on any conversation: a number within its bounds, in time linear in the text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { questionFinder, trajectoryOfText } from "../../lib/reward/text-trajectory.ts";
import type { Segment } from "../../lib/rollout/trajectory.ts";
import { dice } from "../dice.ts";
import { processorMs } from "../processor-time.ts";
import { pieces, question, rewards } from "./rewards.ts";
import { segment, trajectory } from "./spoken.ts";

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
