/** What `npm run bench` answers before anything is built, and that all else is built first. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../project.ts";

const clone = await mkdtemp(join(tmpdir(), "seekrl-bench-"));
after(() => rm(clone, { recursive: true }));

/** In its place of the build it makes a bench that prints what it is called with. */
const npm = `#!/bin/sh
echo "built" >&2
mkdir -p dist/bench/train
echo 'console.log(process.argv.slice(2).join(" "))' > dist/bench/train/sft.js
`;

for (const part of ["scripts", "package.json", "bench/train/sft.ts"])
  await cp(join(projectRoot, part), join(clone, part), { recursive: true });
await mkdir(join(clone, "bin"));
await writeFile(join(clone, "bin", "npm"), npm, { mode: 0o755 });
const { scripts } = JSON.parse(await readFile(join(clone, "package.json"), "utf8"));

/** Calls package.json's script as npm would, in a clone without a build. */
function bench(call: string) {
  const path = [join(clone, "bin"), process.env.PATH].join(delimiter);
  const { status, stdout, stderr } = spawnSync("sh", ["-c", `${scripts.bench} ${call}`], {
    cwd: clone,
    encoding: "utf8",
    env: { ...process.env, PATH: path },
  });
  return { status, stdout, stderr };
}

for (const [call, status] of [
  ["", 0],
  ["--help", 0],
  ["train/stf", 2],
] as const)
  test(`npm run bench -- ${call} names the benchmarks and builds nothing`, () => {
    const listed = "benchmarks: train/sft\n--peers compares those that have peers with them\n";
    assert.deepEqual(bench(call), { status, stdout: "", stderr: listed });
  });

test("npm run bench -- --peers --help prints the usage and builds nothing", () => {
  const { status, stdout, stderr } = bench("--peers --help");
  assert.deepEqual([status, stderr], [0, ""]);
  assert.match(stdout, /^usage: npm run bench -- --peers \[NAME\.\.\.\]/);
});

test("a comparison that is none is named before anything is built", () => {
  const { status, stderr } = bench("--peers nonsense");
  assert.equal(status, 2);
  assert.match(stderr, /^no comparison is named like nonsense; there are:\n/);
});

test("a benchmark is built before it runs, and has its own options", () => {
  const { status, stdout, stderr } = bench("train/sft --threads 2");
  assert.deepEqual([status, stdout], [0, "--threads 2\n"]);
  assert.match(stderr, /built\n$/);
});
