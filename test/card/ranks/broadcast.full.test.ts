/** Weights that one rank trains and others on cards, emulated, generate with (law 6). */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runRanks } from "../../comm/ranks.ts";
import { projectRoot } from "../../project.ts";

const emulation = join(projectRoot, "build", "cmake", "Release", "libseekrl_emulated.so");
const skip = existsSync(emulation) ? false : "not built: SEEKRL_TESTS is off";

test("every rank gets the root's weights on its card, bit for bit, and its version", { skip }, async () => {
  const script = "../../train/roles/broadcast-rank.js";
  const ranks = await runRanks(script, import.meta.url, { size: 3, args: ["card", "bfloat16"] });
  const [first, root, last] = ranks.map(({ code, stderr, lines }) => [code, stderr, ...lines]);
  // Two steps of the root's; a cache of older weights is not used.
  assert.deepEqual(root!.slice(0, 2), [0, ""]);
  assert.deepEqual(first, root);
  assert.deepEqual(last, root);
});
