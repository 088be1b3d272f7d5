/** Folders of small models of every family, and what ranks that share one answer. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { type LoadOptions, Model } from "../../../lib/model/model.ts";
import { runRanks } from "../../comm/ranks.ts";
import { type Answers, answersOf, shapes } from "./answers.ts";
import type { Wanted } from "./tensor-rank.ts";

let root = "";
export const folderOf = (name: string): string => join(root, name);

before(async () => {
  root = await mkdtemp(join(tmpdir(), "seekrl-tensor-"));
  for (const [name, shape] of Object.entries(shapes)) {
    await using model = await Model.create(shape, { seed: 3, std: 0.3 });
    await model.save(folderOf(name));
  }
});

after(() => rm(root, { recursive: true }));

export async function ranksOf(size: number, wanted: readonly Wanted[]): Promise<unknown[][]> {
  const ranks = await runRanks("./tensor-rank.js", import.meta.url, { size, args: [JSON.stringify(wanted)] });
  assert.deepEqual(
    ranks.map(({ code, stderr }) => [code, stderr]),
    Array(size).fill([0, ""]),
    JSON.stringify(ranks),
  );
  return ranks.map(({ lines }) => [...lines]);
}

async function aloneOf(name: string, options: LoadOptions): Promise<Answers> {
  await using model = await Model.load(folderOf(name), options);
  return await answersOf(model);
}

/** Sums in another order differ by a few units of f32's last place, which logits of a few tens carry into log-probabilities. */
export function near(actual: Answers, expected: Answers, tolerance: number): void {
  assert.deepEqual(actual.ids, expected.ids);
  assert.ok(actual.areScored);
  for (const [i, row] of expected.numbers.entries()) {
    for (const [j, value] of row.entries()) {
      const error = Math.abs(actual.numbers[i]![j]! - value) / Math.max(1, Math.abs(value));
      assert.ok(error <= tolerance, `${i} ${j}: expected ${value}, got ${actual.numbers[i]![j]}`);
    }
  }
}

export async function compare(
  size: number,
  cases: readonly (readonly [string, LoadOptions])[],
  tolerance: number,
): Promise<void> {
  const wanted = cases.map(([name, options]) => ({
    ...{ what: "answers" as const, folder: folderOf(name), options },
  }));
  const [told] = await ranksOf(size, wanted);
  for (const [i, [name, options]] of cases.entries()) {
    near(told![i] as Answers, await aloneOf(name, options), tolerance);
  }
}
