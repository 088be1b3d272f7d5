/** bench/gpu without a GPU: every case runs in the emulator, in small, and a wrong result is told. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "../../project.ts";

const emulated = join(projectRoot, "build", "cmake", "seekrl_gpu_bench_emulated");
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
    const file = join(folder, readdirSync(folder).find((name) => /^decode-tiny.*residual$/.test(name)) ?? "");
    const bytes = readFileSync(file);
    for (let at = 0; at < bytes.length / 8; at += 4) bytes.writeFloatLE(0, at);
    writeFileSync(file, bytes);
    const checked = run(emulated, ["--check", folder, "--only", "decode"]);
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
    .filter((line) => /^\| (attention|gradient|AdamW|exact|draw|product) /.test(line));
  assert.ok(rows.length > 20);
  assert.ok(rows.every((row) => row.includes("| no GPU |")));
  // Products and search are held against the host's own numbers.
  const checked = rows.filter((row) => /^\| (product tiny|exact) /.test(row));
  assert.equal(checked.length, 9);
  assert.ok(checked.every((row) => row.endsWith("| ok |")));
  assert.match(run(emulated, ["--fast"]).output, /^--fast: unknown; there are/);
});

test("cases of bench/gpu are listed, and run one by one", { skip }, () => {
  const names = (of: string): string[] => run(emulated, ["--list", of]).output.trimEnd().split("\n");
  const [checks, rows] = [names("check"), names("table")];
  for (const width of [32, 64, 80, 96, 128, 256])
    for (const dtype of ["bf16", "f16"]) assert.ok(checks.includes(`heads of ${width}, ${dtype}`));
  assert.ok(
    checks.some((name) => name.startsWith("loss op")) && !rows.some((name) => name.startsWith("loss op")),
  );
  assert.match(run(emulated, ["--list", "all"]).output, /^--list: expected check or table, got all$/m);
  assert.match(run(emulated, ["--head"]).output, /^\| case \|.*\n\|---[|-]*\n$/m);
  const { status, output } = run(emulated, ["--case", rows[0]!]);
  assert.deepEqual([status, output.split("\n").length], [0, 2]);
});
