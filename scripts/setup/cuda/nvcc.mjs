/** Finds NVIDIA's compiler, which makes the kernels for GPUs. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { SetupError } from "../report.mjs";
import { BUILDS, runsCuda } from "./driver.mjs";

const run = promisify(execFile);

/** The compiler for kernels: its version and the compute capabilities it knows. Undefined where there is none. */
export async function findNvcc(env = process.env) {
  const homes = [env.CUDA_HOME, "/usr/local/cuda"].filter(Boolean).map((home) => join(home, "bin", "nvcc"));
  for (const nvcc of ["nvcc", ...homes]) {
    try {
      const { stdout } = await run(nvcc, ["--version"], { env });
      const listed = await run(nvcc, ["--list-gpu-arch"], { env }).catch(() => ({ stdout: "" }));
      const known = [...listed.stdout.matchAll(/compute_(\d+)/g)].map(([, code]) => Number(code));
      return { path: nvcc, version: /release ([\d.]+)/.exec(stdout)?.[1] ?? "0", known };
    } catch {}
  }
  return undefined;
}

/** Refuses a compiler that is missing, too old, or newer than the driver. */
export function requireNvcc(nvcc, driverVersion) {
  const remedy = "Remedy: install NVIDIA's CUDA toolkit";
  if (nvcc === undefined)
    throw new SetupError(
      `no nvcc was found, which compiles the kernels. ${remedy} 12 or later, or set CUDA_HOME.`,
    );
  if (Number.parseInt(nvcc.version, 10) < 12)
    throw new SetupError(
      `nvcc: expected release 12.0 or later (C++20), got ${nvcc.version}. ${remedy} 12 or later.`,
    );
  if (driverVersion !== undefined && !runsCuda(driverVersion, nvcc.version))
    throw new SetupError(
      `nvcc ${nvcc.version} makes kernels that driver ${driverVersion} does not run. ${remedy} 12.x, or driver ` +
        `${BUILDS[0].least} or later.`,
      "ERR_DEVICE",
    );
}
