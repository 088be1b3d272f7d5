/** `bench/gpu/run.sh` is rehearsed as on a machine that was lent: a copy of the tracked files, the archive, the emulator. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "./project.ts";

/** The files of a checkout, without what is built; the addons are linked, since to compile them takes minutes. */
function copyCheckout(to: string): void {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", args, { cwd: projectRoot, encoding: "utf8" }).split("\0");
  for (const file of files.filter((each) => each !== "" && existsSync(join(projectRoot, each)))) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    copyFileSync(join(projectRoot, file), join(to, file));
  }
  mkdirSync(join(to, "build"));
  symlinkSync(join(projectRoot, "build", "cmake"), join(to, "build", "cmake"));
  copyFileSync(join(projectRoot, "build", "libtorch.json"), join(to, "build", "libtorch.json"));
}

test("both stages run from the archive alone, every part is well and in its time, the budget is under 12 minutes", {
  skip: !existsSync(join(projectRoot, "build/cmake/seekrl_gpu_bench_emulated")) && "built without tests",
}, () => {
  const copy = mkdtempSync(join(tmpdir(), "seekrl-gpu-run-"));
  try {
    copyCheckout(copy);
    execFileSync(process.execPath, [join(projectRoot, "bench", "gpu", "pack.mjs"), "--dry"], {
      stdio: "ignore",
    });
    cpSync(join(projectRoot, "build", "gpu-dry", "carry"), join(copy, "build", "gpu", "carry"), {
      recursive: true,
    });
    const { status, stdout, stderr } = spawnSync("bash", [join(copy, "bench/gpu/run.sh"), "--dry"], {
      encoding: "utf8",
      env: { ...process.env, OUT: join(copy, "results") },
    });
    assert.equal(status, 0, stdout + stderr);
    const parts = [
      "unpack",
      "check",
      "memcheck",
      "table",
      "racecheck",
      "setup",
      "numbers",
      "speed",
      "peer",
      "tests",
      "commands",
    ];
    for (const part of parts)
      assert.match(stdout, new RegExp(`^${part}: \\d+ s \\(expected \\d+, at most \\d+\\)$`, "m"));
    for (const part of ["addon", "large", "large-peer"])
      assert.match(stdout, new RegExp(`^${part}: needs a GPU`, "m"));
    const stages = [...stdout.matchAll(/ s; (\d+) are expected with a GPU, (\d+) the most\.$/gm)];
    assert.equal(stages.length, 2);
    for (const [, expected, most] of stages)
      assert.ok(Number(expected) > 100 && Number(expected) <= Number(most));
    assert.match(stdout, /^Budget: \d+ s are expected with a GPU, 630 s the most\.$/m);
    assert.match(stdout, /^ok - said-cpu\.json and said-emulated\.json are alike$/m);
    assert.match(stdout, /^\| product tiny [^|]*\|.*\| ok \|$/m);
    // What was printed is kept, so that a run that is cut off loses nothing.
    const said = (name: string): string => readFileSync(join(copy, "results", name), "utf8");
    assert.equal(said("run.txt"), stdout);
    assert.match(said("check.txt"), /^ok - decode tiny, [\s\S]*^\d+ ok, 0 not, 0 not finished\.$/m);
    assert.match(said("speed.txt"), /^\{"name":"decode /m);
  } finally {
    rmSync(copy, { recursive: true });
    rmSync(join(projectRoot, "build", "gpu-dry"), { recursive: true, force: true });
  }
});
