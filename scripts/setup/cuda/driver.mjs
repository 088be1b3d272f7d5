/** The driver and the GPUs of this machine, and which builds of torch run on them. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { SetupError } from "../report.mjs";
import { compareVersions } from "../versions.mjs";

const run = promisify(execFile);

/** Below it our kernels have no code. */
export const LEAST_CAPABILITY = 80;

/**
 * Builds of torch, the newest first. A program of a CUDA major version runs on every driver from `least` on (NVIDIA's
 * minor version compatibility); a driver from `own` on knows that very version. A wheel has no machine code for GPUs of a
 * higher generation than `generations`.
 */
export const BUILDS = [
  { tag: "cu130", cuda: "13.0", least: "580.65.06", own: "580.65.06", generations: 12 },
  { tag: "cu128", cuda: "12.8", least: "525.60.13", own: "570.26", generations: 12 },
  { tag: "cu126", cuda: "12.6", least: "525.60.13", own: "560.28.03", generations: 9 },
];

/** The version that the kernel module states; undefined where there is none. */
function moduleVersion(file = "/proc/driver/nvidia/version") {
  try {
    return /Kernel Module[^\d]*([\d.]+)/.exec(readFileSync(file, "utf8"))?.[1];
  } catch {
    return undefined;
  }
}

async function gpusBySmi(env) {
  const query = ["--query-gpu=name,compute_cap,driver_version,memory.total", "--format=csv,noheader,nounits"];
  const { stdout } = await run("nvidia-smi", query, { env, timeout: 30_000 });
  return stdout
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(",").map((part) => part.trim()))
    .map(([name, capability, driver, mebibytes]) => ({
      ...{ name, capability, driver },
      // A GPU that shares the processor's memory states none of its own.
      gib: Number.isFinite(Number(mebibytes)) ? Number(mebibytes) / 1024 : undefined,
    }));
}

/** What is wrong with nvidia-smi's answer, in its own last line. */
function complaint(error) {
  if (error.code === "ENOENT") return "nvidia-smi was not found";
  return `nvidia-smi: ${String(error.stdout || error.stderr || error.message)
    .trim()
    .split("\n")
    .at(-1)}`;
}

/**
 * What drives the GPUs, and which there are.
 *
 * @returns `version` of the driver, undefined where none is found; `gpus`; `problem` where GPUs could not be listed
 */
export async function findDriver(env = process.env) {
  const module = moduleVersion();
  try {
    const gpus = await gpusBySmi(env);
    const version = gpus[0]?.driver ?? module;
    return { version, gpus: gpus.map(({ driver, ...gpu }) => gpu), problem: undefined };
  } catch (error) {
    return { version: module, gpus: [], problem: complaint(error) };
  }
}

/** A compute capability as kernels are compiled for it: `"9.0"` is 90. */
function numberOf(capability) {
  return Number(capability.replace(".", ""));
}

/** Why no build runs on a driver and its GPUs, with the remedy; undefined when one does. */
function refusalOf({ version, gpus, problem }) {
  if (version === undefined) {
    const [{ least: newest }, , { least }] = BUILDS;
    return (
      `no NVIDIA driver was found (${problem ?? "no GPU answers"}). Remedy: install driver ${newest} or later (CUDA 13; ` +
      `${least} runs CUDA 12); in a container, let it see the GPUs (docker run --gpus all). A machine without a GPU, such ` +
      `as one that builds an image, is prepared by naming a build of torch: --build ${BUILDS[0].tag}.`
    );
  }
  if (gpus.length === 0)
    return (
      `driver ${version} shows no GPU (${problem ?? "nvidia-smi lists none"}). ` +
      "Remedy: check that nvidia-smi lists one, and CUDA_VISIBLE_DEVICES or the container's --gpus."
    );
  const least = BUILDS.at(-1).least;
  if (compareVersions(version, least) < 0)
    return `driver ${version} is too old: expected ${least} or later (CUDA 12). Remedy: install driver ${BUILDS[0].least} or later.`;
  if (gpus.every(({ capability }) => numberOf(capability) < LEAST_CAPABILITY)) {
    const names = gpus.map(({ name, capability }) => `${name} (${capability})`).join(", ");
    return `expected a GPU of compute capability 8.0 or later, got ${names}. Remedy: run with --device cpu.`;
  }
  return undefined;
}

/** Builds for a driver and GPUs, the best first: those that the driver knows, then those it runs all the same. */
export function buildsFor(driver) {
  const reason = refusalOf(driver);
  if (reason !== undefined) throw new SetupError(reason, "ERR_DEVICE");
  const generation = Math.max(...driver.gpus.map(({ capability }) => Math.floor(Number(capability))));
  const running = BUILDS.filter(({ least }) => compareVersions(driver.version, least) >= 0);
  const fitting = running.filter(({ generations }) => generations >= generation);
  const isKnown = ({ own }) => compareVersions(driver.version, own) >= 0;
  const unknown = fitting.filter((build) => !isKnown(build)).reverse();
  return [...fitting.filter(isKnown), ...unknown];
}

/** Whether a driver runs a CUDA version, stated as `"12.8"`. */
export function runsCuda(driverVersion, cuda) {
  const build = BUILDS.find((each) => each.cuda.split(".")[0] === cuda.split(".")[0]);
  return build !== undefined && compareVersions(driverVersion, build.least) >= 0;
}

/** Compute capabilities to compile kernels for, as SEEKRL_CUDA_ARCHITECTURES has them: those of the GPUs that nvcc knows. */
export function architecturesFor(gpus, known) {
  const wanted = gpus
    .map(({ capability }) => numberOf(capability))
    .filter((each) => each >= LEAST_CAPABILITY);
  const compiled = wanted.map((each) => Math.max(...known.filter((code) => code <= each), LEAST_CAPABILITY));
  return [...new Set(compiled)].sort((a, b) => a - b);
}
