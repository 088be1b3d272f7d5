/** Three ranks that get the second one's weights, and have to have the same afterwards. */
import assert from "node:assert/strict";
import { runRanks } from "../../comm/ranks.ts";

/** @param what - `model`, `adapter`, or `gpu` for a model on the emulated one */
export async function requireBroadcast(what: string, dtype: string): Promise<void> {
  const ranks = await runRanks("./broadcast-rank.js", import.meta.url, { size: 3, args: [what, dtype] });
  const [first, root, last] = ranks.map(({ code, stderr, lines }) => [code, stderr, ...lines]);
  // Two steps of the root's; a cache of older weights is not used.
  assert.deepEqual(root!.slice(0, 2), [0, ""]);
  assert.deepEqual(first, root);
  assert.deepEqual(last, root);
}
