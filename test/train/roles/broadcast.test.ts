/** Weights that one rank trains and others generate with (law 6). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runRanks } from "../../comm/ranks.ts";

for (const [what, dtype] of [
  ["model", "bfloat16"],
  ["adapter", "float32"],
] as const) {
  test(`${what} in ${dtype}: every rank gets the root's weights, bit for bit, and its version`, async () => {
    const ranks = await runRanks("./broadcast-rank.js", import.meta.url, { size: 3, args: [what, dtype] });
    const [first, root, last] = ranks.map(({ code, stderr, lines }) => [code, stderr, ...lines]);
    // Two steps of the root's; a cache of older weights is not used.
    assert.deepEqual(root!.slice(0, 2), [0, ""]);
    assert.deepEqual(first, root);
    assert.deepEqual(last, root);
  });
}
