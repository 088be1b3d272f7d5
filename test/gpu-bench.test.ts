/** `bench/gpu/run.sh` as somebody meets it who has no GPU and no compiler. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "./project.ts";

const run = (...args: string[]) =>
  spawnSync("bash", [join(projectRoot, "bench", "gpu", "run.sh"), ...args], { encoding: "utf8" });

test("the bench of kernels says how it is called, and what is wrong with a call", () => {
  const help = run("--help");
  assert.deepEqual([help.status, help.stderr], [0, ""]);
  assert.match(help.stdout, /^Checks and measures .*\[--dry\]$/m);
  assert.doesNotMatch(help.stdout, /set -euo|#/);
  for (const [args, message] of [
    [["--only"], /^--only: expected a text that a case's name holds, got nothing$/m],
    [["--half", "both"], /^--half: expected kernels or program, got both$/m],
    [["--quick"], /^--quick: unknown; there are --dry, --half, --only TEXT and --help$/m],
  ] as const) {
    const { status, stdout, stderr } = run(...args);
    assert.deepEqual([status, stdout], [2, ""]);
    assert.match(stderr, message);
  }
});
