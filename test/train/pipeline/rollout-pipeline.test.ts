/** Rollouts ahead of their step: how far, and what becomes of them when the run ends. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RolloutPipeline } from "../../../lib/train/pipeline/rollout-pipeline.ts";
import { type Settled, unsettled } from "./promise.ts";

/** A pipeline whose steps end when they are told to. */
function held(options: {
  readonly steps: number;
  readonly staleness: number;
  readonly signal?: AbortSignal;
}) {
  const begun: number[] = [];
  const ends = new Map<number, Settled<string>>();
  let aborted = 0;
  const pipeline = new RolloutPipeline<string>(options, (step, signal) => {
    const end = unsettled<string>();
    begun.push(step);
    ends.set(step, end);
    signal.addEventListener("abort", () => {
      aborted += 1;
      end.reject(new Error(`step ${step}: aborted`));
    });
    return end.promise;
  });
  return { pipeline, begun, ends, numAborted: () => aborted };
}

test("rollouts begin at most so many steps before their own, and none beyond the last", async () => {
  const { pipeline, begun, ends } = held({ steps: 5, staleness: 2 });
  for (const [step, expected] of [
    [0, [0, 1, 2]],
    [1, [0, 1, 2, 3]],
    [2, [0, 1, 2, 3, 4]],
    [3, [0, 1, 2, 3, 4]],
  ] as const) {
    const taken = pipeline.take(step);
    assert.deepEqual(begun, expected);
    ends.get(step)!.resolve(`rollouts of ${step}`);
    assert.equal(await taken, `rollouts of ${step}`);
  }
  await pipeline.close();
});

test("without staleness a step's rollouts begin when it does", async () => {
  const { pipeline, begun, ends } = held({ steps: 3, staleness: 0 });
  for (const step of [0, 1]) {
    const taken = pipeline.take(step);
    assert.deepEqual(begun.at(-1), step);
    ends.get(step)!.resolve("");
    await taken;
  }
  await pipeline.close();
});

test("what fails ahead of its step is told to the step that takes it, and to no other", async () => {
  const { pipeline, ends } = held({ steps: 3, staleness: 1 });
  const first = pipeline.take(0);
  ends.get(1)!.reject(new Error("no tokens today"));
  ends.get(0)!.resolve("whole");
  assert.equal(await first, "whole");
  await assert.rejects(pipeline.take(1), /no tokens today/);
  await pipeline.close();
});

test("closing and the caller's signal abort what is under way, and closing waits for it", async () => {
  const caller = new AbortController();
  for (const end of [
    (pipeline: RolloutPipeline<string>) => pipeline.close(),
    async (pipeline: RolloutPipeline<string>) => {
      caller.abort();
      await pipeline.close();
    },
  ]) {
    const { pipeline, ends, numAborted } = held({ steps: 9, staleness: 3, signal: caller.signal });
    const taken = pipeline.take(0);
    ends.get(0)!.resolve("");
    await taken;
    await end(pipeline);
    assert.equal(numAborted(), 4);
  }
});
