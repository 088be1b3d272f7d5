/** Process groups over a network: ranks with addresses of their own, a link that is cut, a link that is slow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Machines, whyNoNamespaces } from "./links.ts";
import { type RankOptions, runRanks } from "./ranks.ts";

const skip = whyNoNamespaces();

const talk = (machines: Machines, args: readonly string[], options: Partial<RankOptions> = {}) =>
  runRanks("./talking-rank.js", import.meta.url, {
    ...{ size: machines.names.length, args, namespaces: machines.names, address: machines.addressOf(0) },
    ...options,
  });

for (const size of [2, 4]) {
  test(`${size} ranks with addresses of their own tell each other values`, { skip }, async () => {
    using machines = new Machines(size);
    const ranks = await talk(machines, ["values"]);
    const ids = Array.from({ length: size }, (_, rank) => [rank, rank, rank + 1]);
    for (const { code, stderr, lines } of ranks) {
      assert.deepEqual([code, stderr, lines[0], lines[1]], [0, "", ids, "from one"]);
    }
  });
}

test("a link that is cut in the middle of a collective ends both sides with an error that names the other", {
  skip,
}, async () => {
  using machines = new Machines(3);
  const [zero, one, two] = await talk(machines, ["stream"], {
    onLine: (rank, line) => {
      if (line === "ready" && rank === 1) machines.cut(1);
    },
  });
  const gone = { code: "ERR_REMOTE", message: "a stream: rank 1 has not been heard of for 3 s" };
  assert.deepEqual([zero!.lines.at(-1), two!.lines.at(-1)], [gone, gone]);
  const { code, message } = one!.lines.at(-1) as { code: string; message: string };
  assert.equal(code, "ERR_REMOTE");
  assert.match(
    message,
    /^a stream: (rank 0's machine, .*, has not answered for \d+ s|rank 0 has not been heard of for 3 s)$/,
  );
  assert.deepEqual([zero!.stderr, one!.stderr, two!.stderr], ["", "", ""]);
});

test("a slow link slows, and nothing else", { skip }, async () => {
  using machines = new Machines(2);
  machines.slow(1, "20mbit");
  const began = performance.now();
  const ranks = await talk(machines, ["load"]);
  // More than a mebibyte leaves the slow machine, of which 16 KiB and no more go at once.
  assert.ok(performance.now() - began > (1000 * ((2 ** 20 - 2 ** 14) * 8)) / 20e6);
  for (const { lines, code } of ranks) assert.deepEqual([code, lines], [0, [2 ** 20 + 2 ** 20]]);
});
