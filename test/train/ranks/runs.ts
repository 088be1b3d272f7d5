/** Trainings of several ranks, and how their numbers are compared. */
import assert from "node:assert/strict";
import type { Machines } from "../../comm/links.ts";
import { type RankOptions, runRanks } from "../../comm/ranks.ts";

/** What a rank says of a step, or of a weight at the end. */
export type Line = Readonly<Record<string, unknown>>;

/** Runs `training-rank.ts` as so many ranks, none of which may fail. */
export const runTraining = (size: number, ...args: string[]): Promise<Line[][]> => runWell({ size, args });

/** Runs it with a rank on each of the machines. */
export const runTrainingOver = (machines: Machines, ...args: string[]): Promise<Line[][]> =>
  runWell({ ...placesOn(machines), args });

/** A rank on each of the machines. */
export const placesOn = (machines: Machines) => ({
  size: machines.names.length,
  namespaces: machines.names,
  address: machines.addressOf(0),
});

async function runWell(options: RankOptions): Promise<Line[][]> {
  const ranks = await runRanks("./training-rank.js", import.meta.url, options);
  assert.deepEqual(
    ranks.map(({ code, stderr }) => [code, stderr]),
    Array(options.size).fill([0, ""]),
    JSON.stringify(ranks.map(({ lines }) => lines.at(-1))),
  );
  return ranks.map(({ lines }) => lines as Line[]);
}

/** What depends on the clock, or counts rows on one side of a bound, where the last bit decides. */
const unsteady = /^(seconds|process|name)|clip_fraction$/;

/**
 * Numbers of lines side by side. The first step is of the same weights; by the next ones AdamW has made up to a whole step
 * of what the order of a sum changes in a gradient near zero.
 */
export function assertClose(actual: readonly Line[], expected: readonly Line[]): void {
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

/** What depends on no clock. */
export function steady(lines: readonly Line[]): object[] {
  return lines.map((line) =>
    Object.fromEntries(Object.entries(line).filter(([name]) => !/^(seconds|process)/.test(name))),
  );
}

/** The weights at the end. */
export const weightsOf = (lines: readonly Line[]): Line[] => lines.filter(({ name }) => name !== undefined);

/** Trains on so many ranks, each of which has to have the numbers of one process, and all the same weights to the bit. */
export async function requireOneProcess(what: string, sizes: readonly number[]): Promise<void> {
  const [alone] = await runTraining(1, what);
  assert.ok(alone!.length > 4);
  for (const size of sizes) {
    const ranks = await runTraining(size, what);
    for (const lines of ranks) assertClose(lines, alone!);
    for (const lines of ranks) assert.deepEqual(weightsOf(lines), weightsOf(ranks[0]!));
  }
}
