/** Trainings over a network: ranks with addresses of their own learn what one process learns; a link is cut (laws 3, 5, 8). */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Machines, whyNoNamespaces } from "../../comm/links.ts";
import { runRanks } from "../../comm/ranks.ts";
import { steadyMetrics, withFolder } from "../run/kill.ts";
import { assertClose, placesOn, runTraining, runTrainingOver } from "./runs.ts";

const skip = whyNoNamespaces();

for (const [what, size] of [
  ["sft", 4],
  ["adapter", 2],
  ["grpo", 2],
  ["ppo", 2],
] as const) {
  test(`${what}: ${size} ranks with addresses of their own learn as one process does`, { skip }, async () => {
    const [alone] = await runTraining(1, what);
    using machines = new Machines(size);
    for (const lines of await runTrainingOver(machines, what)) assertClose(lines, alone!);
  });
}

/** Cuts rank 1's link once a file or folder is there. */
async function cutAt(machines: Machines, path: string, ended: AbortSignal): Promise<boolean> {
  while (!ended.aborted && !existsSync(path)) await delay(1);
  machines.cut(1);
  return !ended.aborted;
}

test("a link that is cut while a checkpoint is written ends both ranks, and leaves no torn one", {
  skip,
}, async () => {
  using machines = new Machines(2);
  await withFolder(async (folder) => {
    const [whole, broken] = [join(folder, "whole"), join(folder, "broken")];
    const args = (into: string) => ["ppo", into, JSON.stringify({ zero: 1 })];
    await runTraining(2, ...args(whole));
    const ended = new AbortController();
    const cutting = cutAt(machines, join(broken, "checkpoints", ".writing-step-000003"), ended.signal);
    const ranks = await runRanks("./training-rank.js", import.meta.url, {
      ...placesOn(machines),
      args: args(broken),
    });
    ended.abort();
    assert.ok(await cutting, "the training ended before the link was cut");
    for (const [rank, { code, lines }] of ranks.entries()) {
      const last = lines.at(-1) as { code: string; message: string };
      assert.deepEqual([code, last.code], [1, "ERR_REMOTE"]);
      assert.match(last.message, rank === 0 ? /rank 1/ : /rank 0/);
    }
    await runTraining(2, ...args(broken));
    assert.deepEqual(await steadyMetrics(broken), await steadyMetrics(whole));
  });
});
