/**
 * Runs the native tests, the emulated kernels' too, under AddressSanitizer and UBSan:
 * `node scripts/sanitize.mjs [test name part]...`.
 *
 * They are built in build/sanitize against the libtorch of the last `npm run build`; libtorch itself is not instrumented.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildJobs, builtLibtorch } from "./setup/build.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = join(root, "build", "sanitize");

function run(program, args, env = {}) {
  const { status } = spawnSync(program, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  if (status !== 0) process.exit(status ?? 1);
}

run("cmake", [
  ...["-S", root, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DSEEKRL_TESTS=ON", "-DSEEKRL_SANITIZE=ON"],
  `-DSEEKRL_LIBTORCH=${builtLibtorch(root)}`,
]);
// The emulator is for Linux.
const programs = process.platform === "linux" ? ["seekrl_test", "seekrl_cuda_test"] : ["seekrl_test"];
run("cmake", ["--build", folder, "--target", ...programs, "--parallel", buildJobs()]);
// What libtorch keeps until the process ends is no leak of ours, and its vectors are not annotated.
for (const program of programs)
  run(join(folder, program), process.argv.slice(2), {
    ASAN_OPTIONS: "detect_leaks=0:detect_container_overflow=0",
    UBSAN_OPTIONS: "print_stacktrace=1:halt_on_error=1",
  });
