/** Process groups between real processes: what they tell each other, and what happens when one of them is gone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../../apps/cluster/free-port.ts";
import type { SeekError } from "../../lib/base/errors.ts";
import { Dice } from "../../lib/base/random.ts";
import { agree } from "../../lib/comm/agreement.ts";
import { balanced } from "../../lib/comm/claims.ts";
import { ProcessGroup } from "../../lib/comm/process-group.ts";
import { runRanks } from "./ranks.ts";

const talk = (size: number, ...args: string[]) =>
  runRanks("./talking-rank.js", import.meta.url, { size, args });

test("every rank gets the values of all, a root's word, and numbers that nobody else gets", async () => {
  const ranks = await talk(3, "values");
  assert.deepEqual(
    ranks.map(({ code, stderr }) => [code, stderr]),
    Array(3).fill([0, ""]),
  );
  for (const { lines } of ranks) {
    assert.deepEqual(lines[0], [
      [0, 0, 1],
      [1, 1, 2],
      [2, 2, 3],
    ]);
    assert.equal(lines[1], "from one");
  }
  const counted = ranks.flatMap(({ lines }) => lines[2] as number[]);
  assert.deepEqual(counted.sort(), [0, 1, 2, 3, 4, 5]);
});

test("what fails on one rank fails on all, and says where", async () => {
  const [zero, one] = await talk(2, "rejection");
  assert.deepEqual(zero!.lines, [{ code: "ERR_INTERNAL", message: "rank 1: no" }]);
  assert.deepEqual(one!.lines, [{ message: "no" }]);
});

test("a killed rank ends the others with an error that names it and what they waited for", async () => {
  const ranks = await runRanks("./talking-rank.js", import.meta.url, {
    ...{ size: 3, args: ["death"] },
    onLine: (rank, line, children) => {
      if (line === "ready" && rank === 0) children[1]!.kill("SIGKILL");
    },
  });
  const message = "a sum: rank 1 has not been heard of for 3 s";
  for (const rank of [0, 2]) {
    assert.deepEqual(ranks[rank]!.lines, ["ready", { code: "ERR_REMOTE", message }]);
    assert.equal(ranks[rank]!.stderr, "");
  }
});

test("ranks that were told of jobs of other sizes are refused at once", async () => {
  const port = await freePort();
  const [zero, one] = await Promise.allSettled([
    ProcessGroup.open({ rank: 0, size: 3, port }),
    ProcessGroup.open({ rank: 1, size: 2, port }),
  ]);
  const errors = [zero, one].map((each) => (each as PromiseRejectedResult).reason as SeekError);
  // Whoever comes later refuses, for both; no one tries again.
  assert.deepEqual(
    errors.map(({ code }) => code),
    ["ERR_ARGUMENT", "ERR_ARGUMENT"],
  );
  for (const { message } of errors) {
    assert.match(
      message,
      /^rank [01]: expected [23] ranks of SeekRL .*, as the first to come said, got [23] ranks of /,
    );
    assert.match(message, /Remedy: /);
  }
});

test("a signal ends the waiting for the others", async () => {
  for (const rank of [0, 1]) {
    const stop = new AbortController();
    const opening = ProcessGroup.open({ rank, size: 2, port: await freePort(), signal: stop.signal });
    setTimeout(() => stop.abort(), 100);
    await assert.rejects(opening, { code: "ERR_ABORTED" });
  }
});

test("ranks that never come are named", async () => {
  const place = { size: 3, port: await freePort(), arrivalMs: 500 };
  await assert.rejects(ProcessGroup.open({ rank: 0, ...place }), {
    code: "ERR_REMOTE",
    message: /^expected 3 ranks within 0\.5 s; missing: 1, 2\. Remedy: /,
  });
});

test("a group of one talks to itself, without a port being opened", async () => {
  await using group = await ProcessGroup.open({ rank: 0, size: 1, port: 1 });
  assert.deepEqual(await group.allGather("x", new Map([[1, 2]])), [new Map([[1, 2]])]);
  assert.equal(await group.broadcast("y", 5), 5);
  assert.deepEqual([await group.count("c"), await group.count("d"), await group.count("c")], [0, 0, 1]);
  await agree(group, { any: "thing" });
  await assert.rejects(group.allGather("z", Promise.reject(new RangeError("own"))), RangeError);
});

test("no share is larger than the mean by more than the largest item, and each item is in one", () => {
  const dice = new Dice(4);
  for (let round = 0; round < 50; round += 1) {
    const sizes = Array.from({ length: dice.below(40) }, () => 1 + dice.below(100));
    const numRanks = 1 + dice.below(6);
    const shares = balanced(sizes, numRanks);
    assert.deepEqual(
      shares.flat().sort((a, b) => a - b),
      sizes.map((_, i) => i),
    );
    const total = (items: readonly number[]): number => items.reduce((sum, item) => sum + sizes[item]!, 0);
    const most = Math.max(...shares.map(total));
    assert.ok(
      most <= total(sizes.map((_, i) => i)) / numRanks + Math.max(0, ...sizes),
      `${sizes} of ${numRanks}`,
    );
  }
});

test("places that cannot be are refused before anybody is met", async () => {
  const open = (given: object) => ProcessGroup.open({ rank: 0, size: 2, port: 29500, ...given });
  await assert.rejects(open({ rank: 2 }), {
    code: "ERR_RANGE",
    message: "rank: expected less than the size, 2, got 2",
  });
  await assert.rejects(open({ port: 0 }), { code: "ERR_RANGE" });
  await assert.rejects(open({ host: "x" }), { code: "ERR_ARGUMENT" });
});
