/** What memory stacks did, counted by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemoryActionKind } from "../../lib/rollout/memory.ts";
import { loggedMemory, memoryFigures } from "../../lib/rollout/memory-figures.ts";
import { segment } from "../reward/spoken.ts";

function played(kinds: readonly MemoryActionKind[], peakTokens: number, totalTokens: number) {
  const actions = kinds.map((kind, i) => ({ kind, segment: i + 1, popped: 0 }));
  return { actions, peakTokens, totalTokens, finalTokens: 0 };
}

test("visible tokens are those of the segments in sight, said tokens all that came before", () => {
  const segments = [
    segment("prompt", "pppp"),
    segment("policy", "aaa"),
    segment("observation", "oooooooo"),
    { ...segment("policy", "bb"), visible: [0, 1] },
    { ...segment("policy", "c"), visible: [0, 3] },
  ];
  const memory = played(["search", "backtrack", "answer"], 15, 18);
  const figures = memoryFigures([{ segments, memory }]);
  assert.ok(figures);
  assert.equal(figures.visibleTokens, (4 + 7 + 6) / 3);
  assert.equal(figures.saidTokens, (4 + 15 + 17) / 3);
  assert.deepEqual([figures.peakTokens, figures.totalTokens], [15, 18]);
  assert.equal(loggedMemory(figures)["memory/said_tokens"], 12);
});

test("shares are of trajectories, counts are per trajectory, and others are left out", () => {
  const figures = memoryFigures([
    { segments: [], memory: played(["plan", "backtrack", "backtrack", "answer"], 1, 1) },
    { segments: [], memory: played(["plan", "summary"], 3, 5) },
    { segments: [segment("policy", "x")] },
  ]);
  assert.deepEqual(figures, {
    ...{ backtrackShare: 0.5, summaryShare: 0.5, visibleTokens: 0, saidTokens: 0 },
    ...{ peakTokens: 2, totalTokens: 3, pops: 0, demoted: 0 },
    actions: { answer: 0.5, backtrack: 1, plan: 1, summary: 0.5 },
  });
  assert.equal(memoryFigures([{ segments: [] }]), undefined);
});
