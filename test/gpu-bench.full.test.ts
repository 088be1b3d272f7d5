/** `bench/gpu/run.sh` is rehearsed with the emulator in the GPU's place. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "./project.ts";

test("both halves of the run on a GPU are rehearsed, every part says how long it took, the budget is under 12 minutes", {
  skip: !existsSync(join(projectRoot, "build/cmake/seekrl_gpu_bench_emulated")) && "built without tests",
}, () => {
  const out = mkdtempSync(join(tmpdir(), "seekrl-gpu-run-"));
  try {
    const { status, stdout, stderr } = spawnSync("bash", [join(projectRoot, "bench/gpu/run.sh"), "--dry"], {
      encoding: "utf8",
      env: { ...process.env, OUT: out },
    });
    assert.equal(status, 0, stdout + stderr);
    for (const part of ["check", "table", "tests", "numbers", "commands", "speed"])
      assert.match(stdout, new RegExp(`^${part}: \\d+ s \\(expected \\d+, at most \\d+\\)$`, "m"));
    for (const part of ["memcheck", "racecheck", "setup", "peer"])
      assert.match(stdout, new RegExp(`^${part}: needs a GPU`, "m"));
    const [, expected = ""] =
      /^Budget: (\d+) s are expected with a GPU, 720 s the most\.$/m.exec(stdout) ?? [];
    assert.ok(Number(expected) > 300 && Number(expected) < 720, expected);
    // What a part printed is kept, so that a run that is cut off loses nothing.
    assert.match(
      readFileSync(join(out, "check.txt"), "utf8"),
      /^ok - decode tiny, [\s\S]*^\d+ ok, 0 not\.$/m,
    );
    assert.match(readFileSync(join(out, "speed.txt"), "utf8"), /^\{"name":"decode /m);
  } finally {
    rmSync(out, { recursive: true });
  }
});
