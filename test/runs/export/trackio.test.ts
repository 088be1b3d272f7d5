/** Runs as databases of Trackio, read back with SQL as Trackio asks it. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import sqlite from "node-sqlite3-wasm";
import { writeTrackio } from "../../../apps/runs/export/trackio.ts";
import { sampleRun, sampleTrajectory } from "./sample-run.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const metrics = [
  { step: 1, "reward/mean": 0.25, "seconds/rollout": 2, "seconds/train": 1 },
  { step: 2, "reward/mean": Number.NaN, "seconds/rollout": 4, "seconds/train": 6 },
];

/** What a query gives, in the other SQLite too where Node has one. */
async function asked(path: string, query: string): Promise<Readonly<Record<string, unknown>>[]> {
  const database = new sqlite.Database(path, { readOnly: true });
  const rows = database.all(query) as Record<string, unknown>[];
  database.close();
  const name = "node:sqlite";
  const own = await import(name).catch(() => undefined);
  if (own !== undefined) {
    const again = new own.DatabaseSync(path, { readOnly: true });
    assert.deepEqual(
      again
        .prepare(query)
        .all()
        .map((row: object) => ({ ...row })),
      rows,
    );
    again.close();
  }
  return rows;
}

test("metrics stand by step, numbers that are none as Trackio writes them, times counted back", async () => {
  const path = join(folder, "metrics.db");
  await writeTrackio(path, sampleRun({ metrics }));
  const rows = await asked(
    path,
    "SELECT run_id, run_name, timestamp, step, metrics FROM metrics ORDER BY step",
  );
  assert.deepEqual(
    rows.map(({ run_name, timestamp, step }) => [run_name, timestamp, step]),
    [
      ["sample", "2026-11-20T11:59:50.000Z", 1],
      ["sample", "2026-11-20T12:00:00.000Z", 2],
    ],
  );
  assert.deepEqual(JSON.parse(String(rows[1]?.metrics)), {
    "reward/mean": "NaN",
    "seconds/rollout": 4,
    "seconds/train": 6,
  });
  const [config] = await asked(path, "SELECT run_id, config FROM configs");
  assert.deepEqual(JSON.parse(String(config?.config)), { steps: 2 });
});

test("trajectories are traces with messages, found by any word of them", async () => {
  const path = join(folder, "traces.db");
  await writeTrackio(path, sampleRun({ trajectories: [sampleTrajectory(), sampleTrajectory({ epoch: 2 })] }));
  const found =
    "SELECT messages, metadata, trace_index FROM traces WHERE search_text LIKE '%loromos%' ORDER BY id";
  const rows = await asked(path, found);
  assert.equal(rows.length, 2);
  const messages = JSON.parse(String(rows[0]?.messages)) as { role: string; content: string }[];
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "tool", "assistant"],
  );
  assert.equal(JSON.parse(String(rows[0]?.metadata)).reward, 1);
});

test("a file that is there is not touched, and a failure leaves none behind", async () => {
  const path = join(folder, "there.db");
  await writeFile(path, "the runs of others");
  await assert.rejects(writeTrackio(path, sampleRun()), {
    code: "ERR_STATE",
    message: /there\.db: there is one/,
  });
  const broken = sampleRun({ metrics });
  const failing = {
    ...broken,
    trajectories: () => {
      throw new Error("gone");
    },
  };
  await assert.rejects(writeTrackio(join(folder, "new.db"), failing), /gone/);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => /new|tmp/.test(name)),
    [],
  );
});
