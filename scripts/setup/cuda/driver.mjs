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

/** Whether no GPU is left to programs: CUDA takes what stands before the first number that none has. */
const hidesAll = ({ CUDA_VISIBLE_DEVICES: visible }) => visible !== undefined && /^\s*($|,|-)/.test(visible);

/** What stands in a line of the list; `undefined` for a line that is a remark, such as one on a damaged infoROM. */
function gpuOf(line) {
  const [name, capability, driver, mebibytes] = line.split(",").map((part) => part.trim());
  if (!/^\d+\.\d+$/.test(capability ?? "")) return undefined;
  // A GPU that shares the processor's memory states none of its own.
  const gib = Number.isFinite(Number(mebibytes)) ? Number(mebibytes) / 1024 : undefined;
  return { name, capability, driver, gib };
}

async function gpusBySmi(env) {
  const query = ["--query-gpu=name,compute_cap,driver_version,memory.total", "--format=csv,noheader,nounits"];
  const { stdout } = await run("nvidia-smi", query, { env, timeout: 30_000 });
  const lines = stdout.trim().split("\n").filter(Boolean);
  const gpus = lines.map(gpuOf).filter((gpu) => gpu !== undefined);
  if (gpus.length === 0 && lines.length > 0) throw new Error(lines.at(-1));
  return gpus;
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
 * What drives the GPUs, and which there are for programs to use.
 *
 * @returns `version` of the driver, undefined where none is found; `gpus`; `problem` where there is none to use
 */
export async function findDriver(env = process.env) {
  const module = moduleVersion();
  try {
    const gpus = await gpusBySmi(env);
    const version = gpus[0]?.driver ?? module;
    if (hidesAll(env))
      return { version, gpus: [], problem: `CUDA_VISIBLE_DEVICES="${env.CUDA_VISIBLE_DEVICES}" hides them` };
    return { version, gpus: gpus.map(({ driver, ...gpu }) => gpu), problem: undefined };
  } catch (error) {
    return { version: module, gpus: [], problem: complaint(error) };
  }
}

/** A compute capability as kernels are compiled for it: `"9.0"` is 90. */
function numberOf(capability) {
  return Number(capability.replace(".", ""));
}

/** What lets programs see GPUs that a driver is there for; a container sees the driver of its host, but no GPU by itself. */
export const noGpuRemedy =
  "in a container, let it see the GPUs (docker run --gpus all); elsewhere unset CUDA_VISIBLE_DEVICES, and see that nvidia-smi lists one";

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
  // Such a driver's nvidia-smi knows no compute capabilities, and lists nothing.
  const least = BUILDS.at(-1).least;
  if (compareVersions(version, least) < 0)
    return `driver ${version} is too old: expected ${least} or later (CUDA 12). Remedy: install driver ${BUILDS[0].least} or later.`;
  if (gpus.length === 0)
    return `driver ${version} shows no GPU (${problem ?? "nvidia-smi lists none"}). Remedy: ${noGpuRemedy}.`;
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

const majorOf = (cuda) => cuda.split(".")[0];

/** Whether a driver runs a CUDA version, stated as `"12.8"`. */
export function runsCuda(driverVersion, cuda) {
  const build = BUILDS.find((each) => majorOf(each.cuda) === majorOf(cuda));
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
