/** Runs the native test program (test/native), which checks kernels and ops from C++. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "./project.ts";

const build = join(projectRoot, "build");
const program = [join(build, "cmake", "seekrl_test"), join(build, "cmake", "Release", "seekrl_test")].find(
  (path) => existsSync(path),
);

test("every native test passes", { skip: program === undefined && "built without SEEKRL_TESTS" }, () => {
  const { folder } = JSON.parse(readFileSync(join(build, "libtorch.json"), "utf8")) as { folder: string };
  const { status, stdout, stderr } = spawnSync(program ?? "", [], {
    encoding: "utf8",
    env: { ...process.env, LD_LIBRARY_PATH: join(folder, "lib"), OMP_WAIT_POLICY: "passive" },
  });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
});
