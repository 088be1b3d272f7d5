/** A log of 20,000 trajectories: filters, order, pages, groups, and what they cost. */
import assert from "node:assert/strict";
import { appendFile, open, truncate, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { TrajectoryFilter } from "../../apps/runs/trajectories/trajectory-filter.ts";
import { TrajectoryLog } from "../../apps/runs/trajectories/trajectory-log.ts";
import { type LoggedRow, lines, loggedRow, logOf, withFolder } from "./logs.ts";

const numRows = 20_000;
let log: TrajectoryLog;
let rows: LoggedRow[];
let release: () => void;
let done: Promise<void>;

before(async () => {
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await new Promise<void>((ready) => {
    done = withFolder(async (made) => {
      const file = await open(logOf(made, "trajectories"), "w");
      rows = Array.from({ length: numRows }, (_, row) => loggedRow(row));
      for (let row = 0; row < numRows; row += 5000) await file.write(lines(rows.slice(row, row + 5000)));
      await file.close();
      log = new TrajectoryLog(made);
      await log.refresh();
      ready();
      await released;
    });
  });
});
after(() => {
  release();
  return done;
});

const selected = (filter: TrajectoryFilter): number[] => [...log.select(filter).rows];
const expected = (holds: (row: LoggedRow) => boolean): number[] =>
  rows.flatMap((row, i) => (holds(row) ? [i] : []));

test("each filter lets through what it says, and several what all of them say", () => {
  assert.equal(log.numRows, numRows);
  assert.deepEqual(
    selected({ minReward: 0.5 }),
    expected(({ reward }) => reward !== null && reward >= 0.5),
  );
  assert.deepEqual(
    selected({ minReward: 0.2, maxReward: 0.3 }),
    expected(({ reward }) => reward !== null && reward >= 0.2 && reward <= 0.3),
  );
  assert.deepEqual(
    selected({ em: 1 }),
    expected(({ em }) => em === 1),
  );
  assert.deepEqual(
    selected({ stops: ["invalid", "length"] }),
    expected(({ stop }) => stop === "invalid" || stop === "length"),
  );
  assert.deepEqual(
    selected({ minSearches: 2, maxSearches: 2, fromStep: 100, toStep: 200 }),
    expected(({ rounds, step }) => rounds === 2 && step >= 100 && step <= 200),
  );
  assert.deepEqual(
    selected({ text: "tOWn 77?", em: 0 }),
    expected(({ question, em }) => em === 0 && question.includes("Town 77?")),
  );
  assert.deepEqual(selected({ stops: ["unknown"] }), []);
});

test("every order is that of the rows' own numbers, equal ones in the order of the log", () => {
  const keys = {
    step: (row: LoggedRow) => row.step,
    reward: (row: LoggedRow) => row.reward ?? Number.NEGATIVE_INFINITY,
    em: (row: LoggedRow) => row.em,
    searches: (row: LoggedRow) => row.rounds,
    turns: (row: LoggedRow) => row.turns,
    tokens: (row: LoggedRow) => row.generatedTokens,
  };
  const filter = { toStep: 40 };
  const wanted = expected(({ step }) => step <= 40);
  for (const [sort, keyOf] of Object.entries(keys) as [keyof typeof keys, (row: LoggedRow) => number][]) {
    for (const isDescending of [false, true]) {
      const sign = isDescending ? -1 : 1;
      const apart = (a: number, b: number): number => {
        const [x, y] = [keyOf(rows[a]!), keyOf(rows[b]!)];
        return x === y ? a - b : sign * (x < y ? -1 : 1);
      };
      const sorted = [...log.select(filter, { sort, isDescending }).rows];
      assert.deepEqual(sorted, wanted.toSorted(apart), `${sort} ${isDescending}`);
    }
  }
  assert.deepEqual([...log.select(filter, { isDescending: true }).rows], wanted.toReversed());
});

test("a row read by its place is the row that was written, with or without its segments", async () => {
  for (const row of [0, 1, 4711, 16_000, numRows - 1]) {
    assert.deepEqual(await log.row(row), rows[row]);
    const { segments: _, ...head } = rows[row]!;
    assert.deepEqual(await log.heads([row]), [head]);
  }
  await assert.rejects(log.row(numRows), { code: "ERR_RANGE" });
});

test("a group is the rollouts of one question at one step", () => {
  assert.deepEqual(log.groupOf(16_018), [16_016, 16_017, 16_018, 16_019]);
  for (const row of log.groupOf(numRows - 1)) assert.equal(rows[row]!.question, rows[numRows - 1]!.question);
});

test("the index takes at most 120 bytes a row, and keeps each question once", () => {
  const bytes = Object.values(log.columns).reduce((sum, column) => sum + column.bytes, 0);
  assert.ok(bytes <= 120 * numRows, `${bytes / numRows} bytes a row`);
  assert.equal(log.questions.length, new Set(rows.map(({ question }) => question)).size);
});

test("rows that come while the log is read are found, and a cut is noticed", async () => {
  await withFolder(async (other) => {
    const path = logOf(other, "trajectories");
    const growing = new TrajectoryLog(other);
    const first = lines(rows.slice(0, 10));
    await writeFile(path, first + lines(rows.slice(10, 11)).slice(0, 40));
    await growing.refresh();
    assert.deepEqual([growing.numRows, growing.revision], [10, 0]);
    await appendFile(path, `${lines(rows.slice(10, 11)).slice(40)}${lines(rows.slice(11, 20))}`);
    await growing.refresh();
    assert.deepEqual(await growing.row(10), rows[10]);
    assert.deepEqual([growing.numRows, growing.revision], [20, 0]);
    await truncate(path, Buffer.byteLength(first));
    await growing.refresh();
    assert.deepEqual([growing.numRows, growing.revision], [10, 1]);
    await appendFile(path, lines(rows.slice(50, 60)));
    await growing.refresh();
    assert.deepEqual(await growing.row(10), rows[50]);
  });
});

test("lines of earlier versions say what can be found out: exact match and tokens of the policy", async () => {
  await withFolder(async (other) => {
    const { em: _, group: __, generatedTokens: ___, ...early } = rows[5]!;
    await writeFile(
      logOf(other, "trajectories"),
      lines([early, { ...early, answer: null }, { damaged: true }]),
    );
    const old = new TrajectoryLog(other);
    await old.refresh();
    assert.equal(old.numRows, 2);
    const [{ em, generatedTokens } = {}, unanswered] = await old.heads([0, 1]);
    assert.deepEqual([em, generatedTokens], [Number(early.answer === "ada"), rows[5]!.generatedTokens]);
    assert.equal(unanswered?.em, 0);
    assert.deepEqual([old.columns.em.at(0), old.columns.tokens.at(0)], [em, generatedTokens]);
  });
});
