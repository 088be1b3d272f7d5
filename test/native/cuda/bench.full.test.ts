/** bench/gpu without a GPU: every case runs in the emulator, in small, and a wrong result is told. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "../../project.ts";

const build = join(projectRoot, "build", "cmake");
const emulated = join(build, "seekrl_gpu_bench_emulated");
const onGpu = join(build, "seekrl_gpu_bench_gpu");
const skip = !existsSync(emulated) && "built without tests";

function run(program: string, args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
}

test("every case of bench/gpu runs in the emulator, is as it was, and is told from another", {
  skip,
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "seekrl-gpu-"));
  try {
    const written = run(emulated, ["--write", folder]);
    assert.deepEqual(written, { status: 0, output: "" });
    assert.equal(run(emulated, ["--check", folder]).status, 0);
    const file = join(folder, readdirSync(folder).find((name) => name.endsWith("residual")) ?? "");
    const bytes = readFileSync(file);
    for (let at = 0; at < bytes.length / 8; at += 4) bytes.writeFloatLE(0, at);
    writeFileSync(file, bytes);
    const checked = run(emulated, ["--check", folder]);
    assert.equal(checked.status, 1);
    assert.equal(checked.output.match(/^not ok - .*residual/gm)?.length, 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the table of bench/gpu without a GPU says so in every row", { skip }, () => {
  const { status, output } = run(emulated, []);
  assert.equal(status, 0);
  const rows = output
    .split("\n")
    .filter((line) => /^\| (decode|prefill|train|loss|AdamW|exact|embed) /.test(line));
  assert.ok(rows.length > 30);
  assert.ok(rows.every((row) => row.includes("| no GPU |")));
  assert.match(run(emulated, ["--fast"]).output, /^--fast: unknown; there are/);
});

test("bench/gpu is linked for a GPU, and says that there is none", {
  skip: !existsSync(onGpu) && "built without nvcc",
}, (context) => {
  const { status, output } = run(onGpu, ["--only", "nothing"]);
  if (status === 0) return context.skip("there is a GPU");
  assert.equal(status, 1);
  assert.match(output, /CUDA driver|no CUDA-capable device/);
});
