/** Models that ranks load their shares of. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { runRanks } from "../../comm/ranks.ts";
import { projectRoot } from "../../project.ts";
import type { Loaded, LoadingTask } from "./loading-rank.ts";

export const folder = mkdtempSync(join(tmpdir(), "seekrl-loading-"));
after(() => rmSync(folder, { recursive: true }));

export const golden = join(projectRoot, "test", "golden", "model");

export async function outcomes(size: number, task: LoadingTask) {
  return await runRanks("./loading-rank.js", import.meta.url, { size, args: [JSON.stringify(task)] });
}

export async function load(size: number, task: LoadingTask): Promise<Loaded[]> {
  const ranks = await outcomes(size, task);
  assert.deepEqual(
    ranks.map(({ code, stderr }) => [code, stderr]),
    Array(size).fill([0, ""]),
    JSON.stringify(ranks.map(({ lines }) => lines)),
  );
  return ranks.map(({ lines }) => lines[0] as Loaded);
}
