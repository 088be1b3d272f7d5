/** Metrics of a run that goes on, and the curves made of them. */
import assert from "node:assert/strict";
import { appendFile, truncate, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { seriesOf } from "../../apps/runs/metrics/metric-series.ts";
import { MetricsLog } from "../../apps/runs/metrics/metrics-log.ts";
import { paceOf } from "../../apps/runs/metrics/pace.ts";
import { lines, logOf, withFolder } from "./logs.ts";

async function logWith(
  rows: readonly object[],
  use: (log: MetricsLog, path: string) => Promise<void> | void,
) {
  await withFolder(async (folder) => {
    await writeFile(logOf(folder, "metrics"), lines(rows));
    const log = new MetricsLog(folder);
    await log.refresh();
    await use(log, logOf(folder, "metrics"));
  });
}

test("a number is what the log says: there, not there, or not finite", async () => {
  const rows = [
    { step: 0, "eval/em": 0.5 },
    { step: 1, loss: 2 },
    { step: 2, loss: Number.NaN },
  ];
  await logWith(rows, (log) => {
    assert.deepEqual(log.names, ["step", "eval/em", "loss"]);
    assert.deepEqual(
      [0, 1, 2, 3].map((row) => log.value("loss", row)),
      [undefined, 2, null, undefined],
    );
    assert.deepEqual(log.row(0), rows[0]);
    assert.deepEqual(seriesOf(log, "loss"), { name: "loss", steps: [1, 2], values: [2, null] });
  });
});

test("a resume that cuts the metrics back is a new revision", async () => {
  const first = { step: 1, loss: 3 };
  await logWith([first, { step: 2, loss: 2 }], async (log, path) => {
    await truncate(path, lines([first]).length);
    await appendFile(
      path,
      lines([
        { step: 2, loss: 1.5, extra: 1 },
        { step: 3, loss: 1 },
      ]),
    );
    await log.refresh();
    assert.equal(log.revision, 1);
    assert.deepEqual(seriesOf(log, "loss").values, [3, 1.5, 1]);
    assert.deepEqual(seriesOf(log, "extra").steps, [2]);
  });
});

test("a long curve is cut into buckets that keep its extremes, its mean and its last step", async () => {
  const loss = (step: number): number => (step === 777 ? 100 : step === 4000 ? -100 : Math.sin(step));
  const rows = Array.from({ length: 5000 }, (_, i) => ({ step: i + 1, loss: loss(i + 1) }));
  await logWith(rows, (log) => {
    const { steps, values, min, max } = seriesOf(log, "loss", { points: 50 });
    assert.deepEqual([steps.length, steps[0], steps.at(-1)], [50, 100, 5000]);
    assert.deepEqual([Math.max(...(max as number[])), Math.min(...(min as number[]))], [100, -100]);
    const bucket = rows.slice(700, 800).map((row) => row.loss);
    const mean = bucket.reduce((sum, value) => sum + value, 0) / 100;
    assert.ok(Math.abs(values[7]! - mean) < 1e-12);
    const part = seriesOf(log, "loss", { from: 10, to: 20, points: 50 });
    assert.deepEqual([part.steps.length, part.min], [11, undefined]);
  });
});

test("a bucket with a number that is not finite shows it", async () => {
  const rows = Array.from({ length: 100 }, (_, i) => ({ step: i, loss: i === 42 ? Number.NaN : 1 }));
  await logWith(rows, (log) => {
    const { values } = seriesOf(log, "loss", { points: 10 });
    assert.deepEqual(values, [1, 1, 1, 1, null, 1, 1, 1, 1, 1]);
  });
});

test("the pace is that of the last twenty steps", async () => {
  const rows = Array.from({ length: 100 }, (_, i) => ({
    ...{ step: i + 1, tokens: 600, "seconds/rollout": i < 50 ? 10 : 2, "seconds/train": 1 },
  }));
  await logWith([{ step: 0, "eval/em": 0 }, ...rows], (log) => {
    assert.deepEqual(paceOf(log), { seconds: 50 * 11 + 50 * 3, secondsPerStep: 3, tokensPerSecond: 200 });
  });
});
