/** What a run's folder says of it: live, stopped, finished, ended; found below the folders that were named. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findRuns } from "../../apps/runs/find-runs.ts";
import { configDifferences, optionsByPath } from "../../apps/runs/run-config.ts";
import { RunFolder } from "../../apps/runs/run-folder.ts";
import { holderOf } from "../../apps/runs/run-lock.ts";
import { lockFile, lockFolder } from "../../lib/base/files/folder-lock.ts";
import { lines, withFolder } from "./logs.ts";

const step = (number: number): object => ({
  ...{ step: number, "reward/mean": 0.5, "seconds/rollout": 1, "seconds/train": 1, tokens: 10 },
});

async function makeRun(folder: string, numSteps: number, config = "steps: 4\n"): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "config.yaml"), config);
  await writeFile(
    join(folder, "metrics.jsonl"),
    lines(Array.from({ length: numSteps }, (_, i) => step(i + 1))),
  );
}

test("a run is live while a process holds its lock, and stopped when it is given up", async () => {
  await withFolder(async (folder) => {
    await makeRun(folder, 2);
    const run = new RunFolder(folder);
    const lock = await lockFolder(folder);
    const live = await run.status();
    assert.deepEqual([live.state, live.step, live.steps, live.etaSeconds], ["live", 2, 4, 4]);
    assert.equal(live.holder?.pid, process.pid);
    assert.ok(live.holder.isOwn && live.holder.memoryBytes! > 1e6);
    lock.close();
    const { state, holder, etaSeconds } = await run.status();
    assert.deepEqual([state, holder, etaSeconds], ["stopped", undefined, undefined]);
  });
});

test("where the system lists no processes a holder that lives is believed, and one that has ended is none", async () => {
  await withFolder(async (folder) => {
    const [lock, nowhere] = [join(folder, "lock"), join(folder, "proc")];
    const held = (pid: number) => `process ${pid} on ${hostname()} since 2026-11-24T08:00:00Z`;
    await writeFile(lock, held(process.pid));
    assert.equal((await holderOf(lock, nowhere))?.isOwn, true);
    const { pid } = spawnSync(process.execPath, ["--version"]);
    await writeFile(lock, held(pid));
    assert.equal(await holderOf(lock, nowhere), undefined);
  });
});

test("an adapter that is served and learns is live until the server ends, and has ended then", async () => {
  await withFolder(async (folder) => {
    await writeFile(join(folder, "metrics.jsonl"), lines([{ step: 1, "reward/mean": 0.5 }]));
    const history = join(folder, "history.jsonl");
    await writeFile(history, "");
    const run = new RunFolder(folder);
    {
      using _ = await lockFile(history);
      const { state, kind, holder } = await run.status();
      assert.deepEqual([state, kind, holder], ["live", "rl", undefined]);
    }
    assert.equal((await run.status()).state, "ended");
  });
});

test("a lock of a process that has ended, or that opened something else, holds nothing", async () => {
  await withFolder(async (folder) => {
    await makeRun(folder, 2);
    const { hostname } = await import("node:os");
    for (const pid of [process.pid, 2 ** 22 + 1]) {
      await writeFile(join(folder, "lock"), `process ${pid} on ${hostname()} since 2026-01-01T00:00:00Z`);
      assert.equal((await new RunFolder(folder).status()).state, "stopped");
    }
  });
});

test("a run is finished after its last step, and ended where its checkpoint says so", async () => {
  await withFolder(async (folder) => {
    await makeRun(folder, 4);
    assert.equal((await new RunFolder(folder).status()).state, "finished");
    await makeRun(folder, 3);
    const newest = join(folder, "checkpoints", "step-000003");
    await mkdir(newest, { recursive: true });
    await mkdir(join(folder, "checkpoints", "step-000002"));
    await symlink("step-000002", join(folder, "checkpoints", "best"));
    await writeFile(join(newest, "state.json"), JSON.stringify({ step: 3 }, null, 2));
    const run = new RunFolder(folder);
    assert.equal((await run.status()).state, "stopped");
    await writeFile(join(newest, "state.json"), JSON.stringify({ step: 3, hasEnded: true }, null, 2));
    assert.equal((await run.status()).state, "ended");
    assert.deepEqual(await run.checkpoints(), [
      { step: 3, isBest: false },
      { step: 2, isBest: true },
    ]);
  });
});

test("runs and files of results are found below the folders that are named, each once", async () => {
  await withFolder(async (root) => {
    await makeRun(join(root, "a"), 1);
    await makeRun(join(root, "demo", "single"), 1);
    await makeRun(join(root, "a", "checkpoints", "no-run"), 1);
    const result = { set: "s", index: 0, id: "q", question: "?", answer: null, em: 0 };
    await writeFile(join(root, "eval.jsonl"), lines([result]));
    await writeFile(join(root, "questions.jsonl"), lines([{ id: "q", question: "?", answers: [] }]));
    const { runs, evaluations } = await findRuns([root, join(root, "a"), join(root, "eval.jsonl")]);
    assert.deepEqual(
      runs.map(({ path }) => path),
      [join(root, "a"), join(root, "demo", "single")],
    );
    assert.deepEqual(
      evaluations.map(({ path }) => path),
      [join(root, "eval.jsonl")],
    );
    await assert.rejects(findRuns([join(root, "none")]), { code: "ERR_IO" });
  });
});

test("two configurations differ by the options that have other values, or that one lacks", async () => {
  await withFolder(async (root) => {
    await makeRun(
      join(root, "a"),
      1,
      "steps: 4\nalgorithm: {name: grpo, clip: {low: 0.2}}\nquestions: [a, b]\n",
    );
    await makeRun(
      join(root, "b"),
      1,
      "steps: 4\nalgorithm: {name: grpo, clip: {low: 0.3}}\nquestions: [a]\n",
    );
    const [a, b] = await Promise.all(
      ["a", "b"].map(async (name) => optionsByPath(await new RunFolder(join(root, name)).config())),
    );
    assert.deepEqual(configDifferences(a!, b!), {
      differences: [
        { path: "algorithm.clip.low", first: "0.2", second: "0.3" },
        { path: "questions", first: '["a","b"]', second: '["a"]' },
      ],
      numSame: 2,
    });
  });
});
