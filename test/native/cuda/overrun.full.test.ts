/** That writes beyond a kernel's memory are found, where the emulator runs under AddressSanitizer. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-overrun-"));
after(() => rm(folder, { recursive: true }));
const program = join(folder, "overrun");

const includes = ["native", "test/native", "test/native/cuda"].map((path) => `-I${join(projectRoot, path)}`);
const { status, stderr } = spawnSync(
  "g++",
  [
    ...["-std=c++20", "-O1", "-g1", "-fsanitize=address", "-Wno-unknown-pragmas"],
    ...includes,
    ...[join(projectRoot, "test/native/cuda/overrun/main.cpp"), "-o", program, "-ldl"],
  ],
  { encoding: "utf8" },
);
const skip =
  status === 0 ? false : `g++ builds nothing for AddressSanitizer here: ${stderr ?? "not installed"}`;

/** How a launch ended. */
function run(name: string): { readonly status: number | null; readonly stderr: string } {
  return spawnSync(program, [name], {
    encoding: "utf8",
    env: { ...process.env, ASAN_OPTIONS: "detect_leaks=0" },
  });
}

for (const [memory, kernel] of [
  ["global", "writes_global"],
  ["dynamic", "writes_dynamic"],
  ["static", "writes_static"],
])
  test(`a kernel that writes one number beyond its ${memory} memory is named`, { skip }, () => {
    assert.equal(run(`within-${memory}`).status, 0);
    const beyond = run(`beyond-${memory}`);
    assert.notEqual(beyond.status, 0);
    assert.match(beyond.stderr, new RegExp(`heap-buffer-overflow .* in .*${kernel}`));
  });
