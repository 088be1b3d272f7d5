/** The studio of a process that trains: it finds its own run, and a port where the usual one is taken. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openLiveStudio } from "../../../apps/cli/commands/studio/live-studio.ts";
import type { RunList, Studio } from "../../../apps/studio/api.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { runBandit } from "../../train/run/rl-run.ts";
import { withFolder } from "./asked.ts";

function listener() {
  const lines: string[] = [];
  const io = {
    env: process.env,
    log: (line: string) => void lines.push(line),
  };
  const url = (): string => /http:\S+/.exec(lines.join("\n"))?.[0] ?? "";
  return { io, url, lines };
}

test("while it trains, the process serves its run: live, with steps, trajectories and its own memory", async () => {
  await withFolder(async (out) => {
    const { io, url } = listener();
    await using _studio = await openLiveStudio(true, out, io);
    const get = async <Answer>(path: string): Promise<Answer> =>
      (await (await fetch(`${url()}/api/studio${path}`)).json()) as Answer;
    const seen: [string, number, number | null][] = [];
    let asking: Promise<void> = Promise.resolve();
    const look = async (): Promise<void> => {
      const { liveRun } = await get<Studio>("");
      const { runs } = await get<RunList>("/runs");
      const [run] = runs;
      assert.deepEqual([run?.id, run?.process?.isOwn], [liveRun, true]);
      assert.ok(run!.process!.memoryBytes! > 1e6);
      const { total } = await get<{ total: number }>(`/runs/${liveRun}/trajectories`);
      seen.push([run!.state, run!.step, total]);
    };
    const folder = join(out, "run");
    // Each step waits for what the page is shown of it.
    await runBandit({
      ...{ algorithm: algorithms.ppo, steps: 3, folder },
      onStep: () => {
        asking = asking.then(look);
        return asking;
      },
    });
    assert.deepEqual(seen, [
      ["live", 1, 32],
      ["live", 2, 64],
      ["live", 3, 96],
    ]);
    await writeFile(join(folder, "config.yaml"), "steps: 3\n");
    const { runs } = await get<RunList>("/runs");
    assert.deepEqual([runs[0]?.state, (await get<Studio>("")).liveRun], ["finished", null]);
  });
});

test("a second one takes a free port, and none is opened where none is wanted", async () => {
  await withFolder(async (out) => {
    const [first, second, third] = [listener(), listener(), listener()];
    await using _one = await openLiveStudio(true, out, first.io);
    await using _two = await openLiveStudio(true, out, second.io);
    await using _none = await openLiveStudio(false, out, third.io);
    assert.notEqual(first.url(), second.url());
    assert.equal((await fetch(`${second.url()}/health`)).status, 200);
    assert.deepEqual(third.lines, []);
  });
});
