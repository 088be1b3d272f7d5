/** Runs the native test programs (test/native): kernels and ops from C++, kernels for CUDA in an emulator. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import type { LibtorchFolder } from "../lib/base/packages/libtorch-folder.ts";
import { projectRoot } from "./project.ts";

const build = join(projectRoot, "build");
const launchLog = join(build, "cmake", "cuda", "launches.txt");
const programs: Readonly<Record<string, string>> = {
  "every native test passes": "seekrl_test",
  "collectives of this libtorch do what native/comm/gloo declares": "seekrl_comm_check",
  "every kernel for CUDA computes in the emulator what its header says": "seekrl_cuda_test",
  "no kernel for CUDA has a race between the threads of a block or between blocks": "seekrl_cuda_race_test",
};

for (const [name, program] of Object.entries(programs)) {
  const path = [join(build, "cmake", program), join(build, "cmake", "Release", program)].find((each) =>
    existsSync(each),
  );
  const skip = path === undefined && "not built: SEEKRL_TESTS is off, or the compiler cannot";
  test(name, { skip }, (context) => {
    const { folder, needed = [] } = JSON.parse(
      readFileSync(join(build, "libtorch.json"), "utf8"),
    ) as LibtorchFolder;
    const libraries = [join(folder, "lib"), ...new Set(needed.map((path) => dirname(path)))];
    const { status, stdout, stderr } = spawnSync(path ?? "", [], {
      encoding: "utf8",
      maxBuffer: 2 ** 28,
      env: {
        ...process.env,
        LD_LIBRARY_PATH: libraries.join(delimiter),
        OMP_WAIT_POLICY: "passive",
        // What test/native/cuda/kernels.ts reads.
        ...(program === "seekrl_cuda_test" ? { SEEKRL_LAUNCHES: launchLog } : {}),
      },
    });
    // ThreadSanitizer of GCC 12 and older wants fewer random bits in addresses than some systems have.
    if (stderr.includes("unexpected memory mapping"))
      return context.skip("ThreadSanitizer does not run on this system");
    assert.equal(status, 0, `${stdout}\n${stderr}`);
  });
}
