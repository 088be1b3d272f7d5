/** Trainings of several processes beside those of one: the same losses, the same weights (law 3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runRanks } from "../../comm/ranks.ts";

type Line = Readonly<Record<string, unknown>>;

const run = async (size: number, ...args: string[]): Promise<Line[][]> => {
  const ranks = await runRanks("./training-rank.js", import.meta.url, { size, args });
  assert.deepEqual(
    ranks.map(({ code, stderr }) => [code, stderr]),
    Array(size).fill([0, ""]),
    JSON.stringify(ranks.map(({ lines }) => lines.at(-1))),
  );
  return ranks.map(({ lines }) => lines as Line[]);
};

/** What depends on the clock, or counts rows on one side of a bound, where the last bit decides. */
const unsteady = /^(seconds|process|name)|clip_fraction$/;

/**
 * Numbers of lines side by side. The first step is of the same weights; by the next ones AdamW has made up to a whole step
 * of what the order of a sum changes in a gradient near zero.
 */
function assertClose(actual: readonly Line[], expected: readonly Line[]): void {
  assert.equal(actual.length, expected.length);
  for (const [i, line] of expected.entries()) {
    const numbers = Object.entries(line).filter(([name]) => !unsteady.test(name));
    for (const [name, value] of numbers) {
      const [a, b] = [[actual[i]![name]].flat() as number[], [value].flat() as number[]];
      assert.equal(a.length, b.length, name);
      const scale = Math.max(...b.map(Math.abs), 0.1);
      const gap = Math.max(...b.map((one, k) => Math.abs(one - a[k]!)));
      assert.ok(gap <= (i === 0 ? 1e-6 : 1e-3) * scale, `line ${i}, ${name}: ${gap / scale} of ${scale}`);
    }
  }
}

for (const what of ["sft", "adapter", "grpo", "ppo"]) {
  test(`${what}: two and four ranks have the losses and weights of one process`, async () => {
    const [alone] = await run(1, what);
    assert.ok(alone!.length > 4);
    for (const size of [2, 4]) {
      const ranks = await run(size, what);
      for (const lines of ranks) assertClose(lines, alone!);
      // What ranks hold is not nearly but wholly the same.
      const weights = (lines: readonly Line[]) => lines.filter(({ name }) => name !== undefined);
      for (const lines of ranks) assert.deepEqual(weights(lines), weights(ranks[0]!));
    }
  });
}
