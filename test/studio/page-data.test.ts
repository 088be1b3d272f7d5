/** What the studio's page makes of the server's answers, without a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { diffOf } from "../../web/base/config-diff.ts";
import { alignCurves, appendRows, groupMetrics } from "../../web/base/curves.ts";
import { readEvents } from "../../web/base/event-stream.ts";
import { stacksOf } from "../../web/base/frames.ts";
import {
  showAge,
  showBytes,
  showCount,
  showDuration,
  showNumber,
  showPercent,
} from "../../web/base/numbers.ts";
import { readRoute, writeRoute } from "../../web/base/route.ts";
import { smooth } from "../../web/base/smoothing.ts";
import { pagesOf, scrollTo, windowOf } from "../../web/base/virtual-window.ts";

test("a smooth curve starts where the curve starts, and goes around what is missing", () => {
  assert.deepEqual(smooth([1, 2, 3], 0), [1, 2, 3]);
  assert.deepEqual(
    smooth([5, 5, null, 5], 0.9).map((each) => each && Number(each.toFixed(9))),
    [5, 5, null, 5],
  );
  // By hand: (0.5 * 0.5 * 0 + 0.5 * 1) / 0.75.
  assert.deepEqual(smooth([0, 1], 0.5), [0, 0.5 / 0.75]);
  assert.deepEqual(smooth([Number.NaN, 1], 0.5), [null, 1]);
});

const view = { scrollTop: 0, viewHeight: 100, rowHeight: 10, count: 100_000, overscan: 2 };

test("a list of any length draws what is seen and a little more", () => {
  assert.deepEqual(windowOf(view), { first: 0, end: 12 });
  assert.deepEqual(windowOf({ ...view, scrollTop: 505 }), { first: 48, end: 63 });
  assert.deepEqual(windowOf({ ...view, scrollTop: 1e9 }), { first: 100_000, end: 100_000 });
  assert.deepEqual(windowOf({ ...view, count: 0 }), { first: 0, end: 0 });
});

test("the pages of a span are those that its rows stand in", () => {
  assert.deepEqual(pagesOf({ first: 95, end: 205 }, 100), [0, 1, 2]);
  assert.deepEqual(pagesOf({ first: 100, end: 200 }, 100), [1]);
  assert.deepEqual(pagesOf({ first: 0, end: 0 }, 100), []);
});

test("a row is scrolled to only when it is not seen", () => {
  assert.equal(scrollTo(5, view), 0);
  assert.equal(scrollTo(20, view), 110);
  assert.equal(scrollTo(2, { ...view, scrollTop: 500 }), 20);
});

test("a route is read as it was written", () => {
  const route = { panel: "runs", path: ["a/b c"], query: { text: "who? & when", stop: "eos,length" } };
  assert.deepEqual(readRoute(writeRoute(route)), route);
  assert.deepEqual(readRoute(""), { panel: "", path: [], query: {} });
  assert.equal(writeRoute({ panel: "runs", query: { row: "" } }), "#/runs");
  assert.deepEqual(readRoute("#/runs/%E0").path, ["%E0"]);
});

test("curves of several runs lie over one axis", () => {
  const aligned = alignCurves([
    { steps: [1, 3], values: [10, 30] },
    { steps: [2, 3], values: [null, 33] },
  ]);
  assert.deepEqual(aligned, {
    steps: [1, 2, 3],
    values: [
      [10, null, 30],
      [null, null, 33],
    ],
  });
});

test("rows that come while a run goes on make its curves longer, and begin others", () => {
  const grown = appendRows(
    [{ name: "loss", steps: [1], values: [5], min: [4], max: [6] }],
    [
      { step: 2, loss: 4, kl: 0.1 },
      { step: 3, loss: null },
    ],
  );
  assert.deepEqual(grown, [
    { name: "loss", steps: [1, 2, 3], values: [5, 4, null], min: [4, 4, null], max: [6, 4, null] },
    { name: "kl", steps: [2], values: [0.1] },
  ]);
});

test("metrics stand in groups, the reward first", () => {
  const groups = groupMetrics(["zoo/a", "loss", "reward/mean", "reward/total"]);
  assert.deepEqual(
    groups.map(({ group }) => group),
    ["reward", "other", "zoo"],
  );
});

test("options of runs are compared by path", () => {
  const rows = diffOf([
    [
      { path: "lr", value: "1e-5" },
      { path: "seed", value: "1" },
    ],
    [{ path: "seed", value: "1" }],
  ]);
  assert.deepEqual(rows, [
    { path: "lr", values: ["1e-5", undefined], differs: true },
    { path: "seed", values: ["1", "1"], differs: false },
  ]);
});

async function* cut(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

test("server-sent events are read however their text is cut", async () => {
  const text = ': hello\n\nevent: run\ndata: {"a":\ndata: 1}\n\ndata: x\r\n\r\ndata: unfinished';
  for (const size of [1, 2, 3, 7, 1000]) {
    const events = [];
    for await (const event of readEvents(cut(text, size))) events.push(event);
    assert.deepEqual(events, [
      { event: "run", data: '{"a":\n1}' },
      { event: "message", data: "x" },
    ]);
  }
});

test("frames of a memory stack grow, and shrink by what an action took the place of", () => {
  const stacks = stacksOf([
    { kind: "plan", segment: 1, popped: 0 },
    { kind: "search", segment: 3, popped: 0 },
    { kind: "search", segment: 5, popped: 0 },
    { kind: "summary", segment: 7, popped: 2 },
    { kind: "plan", segment: 9, popped: 1 },
  ]);
  assert.deepEqual(
    stacks.map((stack) => stack.map(({ segment }) => segment)),
    [[1], [1, 3], [1, 3, 5], [1, 7], [9, 7]],
  );
});

test("numbers are short, with a true minus", () => {
  const shown = [0, 1, 0.12345, 12.345, -0.5, 123456, 1.5e9, 0.00001234, null, Number.NaN].map(showNumber);
  assert.deepEqual(shown, ["0", "1", "0.1235", "12.35", "−0.5", "123.5k", "1.5B", "1.2e−5", "–", "NaN"]);
  assert.equal(showPercent(0.9344), "93.4 %");
  assert.equal(showCount(1234567), "1\u202f234\u202f567");
  assert.deepEqual([500, 12_345_678, 2.5e11].map(showBytes), ["500 B", "12.3 MB", "250 GB"]);
  assert.deepEqual([840, 12_400, 185_000, 7_800_000, 2.8e8].map(showDuration), [
    "840 ms",
    "12.4 s",
    "3 min 05 s",
    "2 h 10 min",
    "3 d 5 h",
  ]);
  assert.deepEqual(
    [0, 300_000, 7_200_000].map((ago) => showAge(1e9 - ago, 1e9)),
    ["just now", "5 min ago", "2 h ago"],
  );
});
