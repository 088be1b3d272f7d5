/** Changes of an index that are killed at several moments, and what is then looked at. */
import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { indexInfo } from "../../../lib/search/index-folder/info.ts";
import { randomFrom } from "../../dice.ts";
import { killedPassages, type Moment, runAndKill } from "./killed.ts";

const root = await mkdtemp(join(tmpdir(), "seekrl-kill-"));
after(() => rm(root, { recursive: true }));
export const { first, second } = killedPassages();
export const whole = join(root, "whole");
await buildIndex({ corpus: first, out: whole });

export async function sizeOf(folder: string): Promise<number> {
  const { passages, problems } = await indexInfo(folder, { verify: "all" });
  assert.deepEqual(problems, []);
  return passages;
}

export const delays = [0, 25, 70];

const random = randomFrom(8);
/** Milliseconds from the beginning of a build to its end, as many as make 20 moments with its stages. */
export const manyDelays = Array.from({ length: 16 }, () => Math.round(200 * random()));

export async function afterEach(
  moments: readonly Moment[],
  operation: string,
  use: (folder: string, at: string) => Promise<void>,
): Promise<void> {
  let numKilled = 0;
  for (const moment of moments) {
    const folder = join(root, `${operation}-${moment}`);
    if (operation !== "build") await cp(whole, folder, { recursive: true });
    if (await runAndKill(operation, folder, moment)) numKilled += 1;
    await use(folder, `${operation} killed at ${moment}`);
    await rm(folder, { recursive: true });
  }
  assert.ok(numKilled > 0, "some were killed before their end");
}
