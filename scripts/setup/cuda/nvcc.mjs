/** Finds NVIDIA's compiler, which makes the kernels for GPUs. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { SetupError } from "../report.mjs";
import { BUILDS, runsCuda } from "./driver.mjs";

const run = promisify(execFile);

/** The oldest release that compiles C++20. */
const leastRelease = 12;

const isOld = ({ version }) => Number.parseInt(version, 10) < leastRelease;

/** A compiler's version and the compute capabilities it knows; undefined where there is none at the path. */
async function nvccAt(path, env) {
  if (!existsSync(path)) return undefined;
  try {
    const { stdout } = await run(path, ["--version"], { env });
    const listed = await run(path, ["--list-gpu-arch"], { env }).catch(() => ({ stdout: "" }));
    const known = [...listed.stdout.matchAll(/compute_(\d+)/g)].map(([, code]) => Number(code));
    return { path, version: /release ([\d.]+)/.exec(stdout)?.[1] ?? "0", known };
  } catch {
    return undefined;
  }
}

/**
 * The compiler for kernels: that of CUDA_HOME, else the first in PATH or /usr/local/cuda that is not too old, as a
 * distribution's own is at times. Undefined where there is none.
 */
export async function findNvcc(env = process.env) {
  if (env.CUDA_HOME) {
    const named = await nvccAt(join(env.CUDA_HOME, "bin", "nvcc"), env);
    if (named !== undefined) return named;
  }
  const folders = [...(env.PATH ?? "").split(delimiter).filter(Boolean), "/usr/local/cuda/bin"];
  let old;
  for (const folder of folders) {
    const found = await nvccAt(join(folder, "nvcc"), env);
    if (found !== undefined && !isOld(found)) return found;
    old ??= found;
  }
  return old;
}

/** Refuses a compiler that is missing, too old, or newer than the driver. */
export function requireNvcc(nvcc, driverVersion) {
  const remedy = "Remedy: install NVIDIA's CUDA toolkit";
  if (nvcc === undefined)
    throw new SetupError(
      `no nvcc was found, which compiles the kernels. ${remedy} 12 or later, or set CUDA_HOME.`,
    );
  if (isOld(nvcc))
    throw new SetupError(
      `nvcc: expected release ${leastRelease}.0 or later (C++20), got ${nvcc.version} (${nvcc.path}). ${remedy} 12 or later, and name its ` +
        "folder in CUDA_HOME.",
    );
  if (driverVersion !== undefined && !runsCuda(driverVersion, nvcc.version))
    throw new SetupError(
      `nvcc ${nvcc.version} (${nvcc.path}) makes kernels that driver ${driverVersion} does not run. ${remedy} 12.x and name its folder in ` +
        `CUDA_HOME, or install driver ${BUILDS[0].least} or later.`,
      "ERR_DEVICE",
    );
}
