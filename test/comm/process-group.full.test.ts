/** Process groups whose ranks differ, stall, freeze, end or meet again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { balanced } from "../../lib/comm/claims.ts";
import { runRanks } from "./ranks.ts";

const talk = (size: number, ...args: string[]) =>
  runRanks("./talking-rank.js", import.meta.url, { size, args });

test("ranks that were given different settings are told which", async () => {
  const ranks = await talk(3, "settings");
  const message = "steps: expected the same on all ranks, got 5 on rank 0 and 6 on rank 2";
  for (const { lines } of ranks) assert.deepEqual(lines, [{ code: "ERR_ARGUMENT", message }]);
});

test("each item is run by one rank, and an idle rank takes what a slow one has not begun", async () => {
  const sizes = [3, 1, 2, 5, 4, 1, 2, 2, 6, 1, 1, 3];
  const ranks = await talk(2, "claims", JSON.stringify(sizes));
  const taken = ranks.map(({ lines }) => lines as number[]);
  assert.deepEqual(
    taken.flat().sort((a, b) => a - b),
    sizes.map((_, i) => i),
  );
  assert.ok(taken[1]!.length > balanced(sizes, 2)[1]!.length, JSON.stringify(taken));
});

/** Stops one of two ranks as a debugger or a paused machine does, until the other one has ended. */
async function freeze(frozen: number) {
  return runRanks("./talking-rank.js", import.meta.url, {
    ...{ size: 2, args: ["counting"] },
    onLine: (rank, line, children) => {
      if (line === "ready" && rank === frozen) children[frozen]!.kill("SIGSTOP");
      if (line !== "ready" && rank !== frozen) children[frozen]!.kill("SIGKILL");
    },
  });
}

test("a rank that is frozen while others ask the store ends them with an error that names it", async () => {
  const [zero] = await freeze(1);
  assert.deepEqual(zero!.lines.at(-1), {
    code: "ERR_REMOTE",
    message: "c: rank 1 has not been heard of for 3 s",
  });
  const [, one] = await freeze(0);
  const { code, message } = one!.lines.at(-1) as { code: string; message: string };
  assert.equal(code, "ERR_REMOTE");
  assert.match(message, /^c: rank 0's machine, .*, has not answered for 3 s$/);
});

test("a rank that lives and does not come ends the others with an error that names it and where they wait", async () => {
  const [zero, one, two] = await talk(3, "stall");
  const message = "a sum: rank 1 has not come for 2 s to where others wait, a sum";
  assert.deepEqual(
    [zero!.lines, two!.lines],
    [[{ code: "ERR_REMOTE", message }], [{ code: "ERR_REMOTE", message }]],
  );
  assert.equal(one!.code, 1);
});

test("some of the ranks are a group of their own, whose errors name them as the job does", async () => {
  const ranks = await runRanks("./talking-rank.js", import.meta.url, {
    ...{ size: 3, args: ["some"] },
    onLine: (rank, line, children) => {
      if (rank === 2 && line === "not told") children[2]!.kill("SIGKILL");
    },
  });
  const message = "a sum: rank 2 has not been heard of for 3 s";
  assert.deepEqual(
    ranks.map(({ lines }) => lines),
    [
      ["not among them", "not told"],
      [[2, 1], ["of 0", "of 1", "of 2"], { code: "ERR_REMOTE", message }],
      [[2, 1], "not told"],
    ],
  );
});

test("a rank that ends without closing its group ends the others with an error that names it", async () => {
  const ranks = await talk(3, "silence");
  const message = "a sum: rank 1 has not been heard of for 3 s";
  for (const rank of [0, 2]) assert.deepEqual(ranks[rank]!.lines, [{ code: "ERR_REMOTE", message }]);
});

test("processes meet again in groups of other jobs, at the same port", async () => {
  const ranks = await talk(2, "again");
  for (const { code, stderr, lines } of ranks) {
    assert.deepEqual(
      [code, stderr, lines],
      [
        0,
        "",
        [
          [0, 1],
          [0, 1],
        ],
      ],
    );
  }
});
