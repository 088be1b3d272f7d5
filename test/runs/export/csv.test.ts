/** Runs as CSV, read back by a reader that knows nothing of them. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { metricsCsv, trajectoriesCsv } from "../../../apps/runs/export/csv.ts";
import type { ExportedMetrics } from "../../../apps/runs/export/exported.ts";
import { readCsvRows } from "../../../lib/data/files/csv.ts";
import { sampleRun, sampleTrajectory, textOf } from "./sample-run.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

async function rowsOf(text: string): Promise<Readonly<Record<string, unknown>>[]> {
  const path = join(folder, "table.csv");
  await writeFile(path, text);
  const rows = [];
  for await (const { value } of readCsvRows(path, ",")) rows.push(value);
  return rows;
}

test("metrics that only some steps have are columns of their own, empty elsewhere", async () => {
  const metrics: ExportedMetrics[] = [
    { step: 1, "reward/mean": 0.25 },
    { step: 2, "reward/mean": 1e-7, "eval/em": 0.5 },
  ];
  const text = await textOf(metricsCsv(sampleRun({ metrics })));
  assert.equal(text, "step,reward/mean,eval/em\r\n1,0.25,\r\n2,1e-7,0.5\r\n");
});

test("texts with commas, quotes and line breaks come back as they were", async () => {
  const question = 'Who said "no, never"?\nAnd when, \u{1F600}?\r\n';
  const odd = sampleTrajectory({ question, answer: null, answers: ['a "b", c'], scores: { reward: -0.5 } });
  const run = sampleRun({ trajectories: [odd, sampleTrajectory({ scores: { em: 1 } })] });
  const [first, second] = await rowsOf(await textOf(trajectoriesCsv(run)));
  assert.equal(first?.question, question);
  assert.deepEqual(JSON.parse(String(first?.answers)), ['a "b", c']);
  assert.equal(first?.answer, "");
  assert.deepEqual([first?.reward, first?.em, second?.reward, second?.em], ["-0.5", "", "", "1"]);
  assert.deepEqual(JSON.parse(String(second?.queries)), [["who directed Nightwinter"]]);
  assert.equal(
    second?.text,
    sampleTrajectory()
      .segments.map(({ text }) => text)
      .join(""),
  );
});
